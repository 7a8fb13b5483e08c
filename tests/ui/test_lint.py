"""The source of the screens: untrusted text has one door, and no way around it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

UI = Path(__file__).parents[2] / "src" / "agentdbg" / "ui"
FILES = sorted(UI.rglob("*.py"))

TAKES_MARKUP = {"Static", "Label", "Button", "OptionList", "Markdown", "Header", "Tooltip"}
FORBIDDEN_NAMES = {
    "from_markup",
    "from_ansi",
    "open_url",
    "DataTable",
    "RichLog",
    "TextArea",
    "ListView",
    "Markdown",
    "Log",
}
TITLES = ("border_title", "border_subtitle", "tooltip")
FORBIDDEN_CALLS = {"eval", "exec", "__import__", "import_module"}


def problems(source: str) -> list[str]:
    """What a file does that it must not."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            found.extend(_call_problems(node))
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        if name in FORBIDDEN_NAMES:
            found.append(f"line {getattr(node, 'lineno', 0)}: {name}")
        if isinstance(node, ast.Assign):
            for target in node.targets:
                titled = isinstance(target, ast.Attribute) and target.attr in TITLES
                if titled and not _is_door(node.value):
                    found.append(f"line {node.lineno}: a title of something other than content()")
    return found


def _call_problems(call: ast.Call) -> list[str]:
    function = call.func
    name = (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )
    first = call.args[0] if call.args else None
    if name in FORBIDDEN_CALLS:
        return [f"line {call.lineno}: {name}"]
    if name in TAKES_MARKUP and first is not None and not _is_door(first):
        return [f"line {call.lineno}: {name} of something other than content()"]
    if name in ("notify", "panic") and not (isinstance(first, ast.Constant) or (first is not None and _is_door(first))):
        return [f"line {call.lineno}: {name} of something other than a constant"]
    if name in ("Text", "Content") and not (
        isinstance(first, ast.Call) and _name(first) in ("safe_line", "safe_block")
    ):
        return [f"line {call.lineno}: {name} of text that did not come through safe_text"]
    if name == "Segment" and first is not None and not _is_safe_segment(first):
        return [f"line {call.lineno}: Segment of text that did not come through safe_text"]
    return []


def _is_door(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and _name(node) == "content"


def _is_safe_segment(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return _name(node) in ("safe_line", "neutralise")
    return isinstance(node, ast.Constant) or (isinstance(node, ast.BinOp) and isinstance(node.left, ast.Constant))


def _name(call: ast.Call) -> str:
    return (
        call.func.id
        if isinstance(call.func, ast.Name)
        else call.func.attr
        if isinstance(call.func, ast.Attribute)
        else ""
    )


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(UI)) for path in FILES])
def test_no_way_around_the_door(path: Path) -> None:
    assert problems(path.read_text()) == []


@pytest.mark.parametrize(
    "line",
    [
        "Static(name)",
        "Static(f'{name}')",
        "Label('x')",
        "self.notify(f'{error}')",
        "Text.from_markup(x)",
        "Content(name)",
        "Segment(name)",
        "self.border_title = name",
        "widget.tooltip = f'{x}'",
        "DataTable()",
        "eval(x)",
    ],
)
def test_the_lint_finds_what_it_looks_for(line: str) -> None:
    assert problems(line)


@pytest.mark.parametrize(
    "line", ["Static(content(name))", "Label(content(''), markup=False)", "notify('saved')", "Segment(' ' * 3)"]
)
def test_the_lint_lets_honest_lines_pass(line: str) -> None:
    assert problems(line) == []


def test_files_and_functions_stay_small() -> None:
    for path in [*FILES, *sorted((UI.parent / "debugging").rglob("*.py"))]:
        tree = ast.parse(path.read_text())
        assert len(path.read_text().splitlines()) <= 400, path
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert (node.end_lineno or 0) - node.lineno < 50, (path, node.name)
    assert len((UI / "app.py").read_text().splitlines()) < 200
