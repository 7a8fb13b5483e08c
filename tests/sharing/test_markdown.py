"""A page of evidence: complete, and whatever the record holds stays text in it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from agentdbg.model.records import ErrorInfo, Kind, RunStatus, RunSummary, Segment, Step
from agentdbg.redaction.gate import Gate
from agentdbg.sharing.evidence import Evidence
from agentdbg.sharing.markdown import MAX_BODY, fenced, inline, write_markdown
from tests.support.hostile import attacks, hostile_strings
from tests.support.memory_source import MemorySource
from tests.support.refund_run import refund_run

MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
INJECTIONS = (
    "```\n<script>alert(1)</script>\n```",
    "````\n# heading\n~~~~",
    "<img src=x onerror=alert(1)>",
    "![x](https://evil.example/p.png)",
    "[click](javascript:alert(1))",
    "<https://evil.example>",
    "a | b | c\n--- | --- | ---",
    "| x |\n\n# owned",
    "&lt;script&gt; &#60;b&#62;",
    "**bold** _it_ ~~gone~~ `code` \\*",
    "- item\n1. one\n> quote\n***\n    code",
    "[ref]: https://evil.example\n[ref]",
    "]]> --> </pre></code></table><!-- ",
    "$x$ @everyone #17 :boom: www.evil.example http://evil.example",
)


def page(text: str) -> str:
    source = MemorySource(RunSummary("r", RunStatus.FAILED, agent=text, tags={text: text}, flag=text))
    source.damage = [text]
    parts = [Segment("message", text, source.put({"role": "user", "content": text}))]
    step = Step(
        0,
        "w:0",
        Kind.TOOL,
        text,
        arguments=source.put({text: text}),
        result=source.put(text.encode("utf-8", "replace")),
    )
    source.add(step)
    source.add(
        Step(0, "w:1", Kind.MODEL, text, error=ErrorInfo(text, text), attrs={text: [text]}, holes=(text,)), parts
    )
    return "".join(write_markdown(Evidence(source, Gate(enabled=False))))


def flat(tokens: list[Token]) -> list[Token]:
    return [inner for token in tokens for inner in [token, *flat(token.children or [])]]


def check(text: str) -> None:
    tokens = flat(MARKDOWN.parse(page(text)))
    kinds = {token.type for token in tokens}
    assert not [kind for kind in kinds if kind.startswith(("html", "link", "image", "s_", "em", "strong", "hr"))]
    assert not [kind for kind in kinds if "list" in kind or "quote" in kind or kind == "code_block"]
    headings = [tokens[i + 1].content for i, token in enumerate(tokens) if token.type == "heading_open"]
    expected = [r"Run ", "Steps", r"1 tool ", "arguments ", "result ", "2 model ", "input", "1 message"]
    assert len(headings) == len(expected)
    assert all(heading.startswith(start.rstrip()) for heading, start in zip(headings, expected, strict=True))
    assert sum(token.type == "table_open" for token in tokens) == 5


@pytest.mark.parametrize("text", [*INJECTIONS, *hostile_strings()])
def test_no_text_is_more_than_text(text: str) -> None:
    check(text)
    assert not attacks(page(text).replace("\n", "").replace("\t", ""))


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="`~<>[]()!#*_|\\&-+=:.\n\t 1a\r", min_size=1, max_size=40))
def test_no_mixture_of_marks_is_more_than_text(text: str) -> None:
    check(text)


@given(st.text(min_size=1, max_size=200))
def test_a_line_reads_as_what_was_recorded(text: str) -> None:
    (token,) = [t for t in MARKDOWN.parse(f"# x{inline(text)}x") if t.type == "inline"]
    shown = "".join(child.content for child in token.children or [])
    assert shown == f"x{inline_text(text)}x"


def inline_text(text: str) -> str:
    from agentdbg.model.safe_text import safe_line

    return safe_line(text)


def test_a_block_cannot_be_ended_from_inside() -> None:
    for text in ("```", "`````\nx", "a\n```\nb", "~~~\n```"):
        tokens = MARKDOWN.parse(fenced(text))
        assert [(t.type, t.content) for t in tokens] == [("fence", f"{text}\n")]


def test_the_refund_run_is_told_in_full() -> None:
    source = refund_run()
    shown = "".join(write_markdown(Evidence(source, Gate())))
    for step in source.steps():
        assert re.search(rf"^## {step.n} {step.kind} ", shown, re.MULTILINE)
    assert "Refund only what the policy allows." in shown
    assert shown.count("You work at the refund desk") == 1


def test_a_long_body_is_cut_and_says_so() -> None:
    shown = page("x" * (MAX_BODY + 7))
    assert "… and " in shown
    assert max(len(line) for line in shown.splitlines()) < MAX_BODY + 1000


def test_rebuilt_values_are_marked(tmp_path_factory: pytest.TempPathFactory) -> None:
    from agentdbg.importing import open_one
    from tests.support.mini_swe import answer, said, write

    path = write(tmp_path_factory.mktemp("x") / "x.json", [said("user", "Go."), answer("c1", "ls")])
    assert "### input (rebuilt, not recorded)" in "".join(write_markdown(Evidence(open_one(path), Gate())))
