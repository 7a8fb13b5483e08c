"""Edits of recorded values: made where they are served, or refused with the way to do it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentdbg.replay import cassette
from agentdbg.replay.edits import BadEdit, Edit, Edited, apply, parse_edit
from agentdbg.store.reader import DirectoryRunSource
from tests.support.run_records import RunRecords


@pytest.fixture
def source(tmp_path: Path) -> Iterator[DirectoryRunSource]:
    """1 agent, 2 look, 3 retrieval, 4 a failed send, 5 a checkpoint, 6 a call without an outcome."""
    run = RunRecords(tmp_path / "store", "run")
    run.tool("look", {"id": 8}, {"items": [{"price": 5, "text": "old text"}], "total": 5})
    run.note("retrieval", "docs", [{"id": "a", "source": "s", "sha256": "0", "text": "old text"}])
    run.tool("send", {"to": "x"}, effect="write", status="error", error={"type": "Down", "message": "m"})
    run.note("checkpoint", "decide", {"status": "NEW"})
    run.tool("hung", {}, status=None)
    run.end()
    found = DirectoryRunSource(tmp_path / "store" / "runs" / "run")
    found.index(None)
    yield found
    found.close()


def edited(source: DirectoryRunSource, *texts: str) -> Edited:
    return apply(source, cassette.build(source), [parse_edit(text) for text in texts])


def served(done: Edited, number: int) -> object:
    call = done.tape.calls[number]
    assert call.result is not None
    return json.loads(done.tape.bodies[call.result])


@pytest.mark.parametrize(
    ("text", "edit"),
    [
        ("4:result.amount=10", Edit(4, "result.amount", 10)),
        ('4:result={"a": [1]}', Edit(4, "result", {"a": [1]})),
        ("1:result.items[0].text=plain words", Edit(1, "result.items[0].text", "plain words")),
        ("1:result.note=a=b", Edit(1, "result.note", "a=b")),
        ("1:result.none=null", Edit(1, "result.none", None)),
        ('1:result["a.b=c"][-1]=1', Edit(1, 'result["a.b=c"][-1]', 1)),
    ],
)
def test_an_edit_is_read(text: str, edit: Edit) -> None:
    assert parse_edit(text) == edit


@pytest.mark.parametrize(
    "text",
    [
        *("", "result=1", "x:result=1", "1:=1", "1:result", "1:a..b=1", "1:a[x]=1", "-1:a=1", "9" * 5000 + ":a=1"),
        *("٣:a=1", '1:result={"a": 1', "1:result=[1,", '1:result="a', "1:result=" + "[" * 100_000),
    ],
    ids=lambda text: text[:12],
)
def test_what_is_no_edit_says_how_to_write_one(text: str) -> None:
    with pytest.raises(BadEdit, match="as in"):
        parse_edit(text)


def test_a_result_is_edited_where_it_is_served(source: DirectoryRunSource) -> None:
    done = edited(source, "2:result.items[0].price=7", "2:result.total=7")
    assert served(done, 0) == {"items": [{"price": 7, "text": "old text"}], "total": 7}
    assert done.steps == {done.tape.calls[0].step}
    assert cassette.build(source).calls[0].result != done.tape.calls[0].result


def test_the_arguments_of_a_tool_are_edited_where_it_is_made_again(source: DirectoryRunSource) -> None:
    done = edited(source, "2:arguments.id=9")
    assert done.calls == {done.tape.calls[0].step: ((["id"], 9),)}
    with pytest.raises(BadEdit, match="a regression replay can"):
        apply(source, cassette.build(source), [parse_edit("2:arguments.id=9")], exact=True)
    for both in (("2:arguments.id=9", "2:result=1"), ("2:result=1", "2:arguments.id=9")):
        with pytest.raises(BadEdit, match="edited too"):
            edited(source, *both)


def test_a_failed_call_can_be_made_to_succeed(source: DirectoryRunSource) -> None:
    done = edited(source, '4:result={"sent": true}')
    assert (served(done, 1), done.tape.calls[1].error, done.tape.calls[1].status) == ({"sent": True}, None, "ok")


def test_a_document_is_edited_in_the_call_that_it_came_from(source: DirectoryRunSource) -> None:
    done = edited(source, '3:documents[0].text="new text"')
    assert served(done, 0) == {"items": [{"price": 5, "text": "new text"}], "total": 5}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("10:result=1", "has steps 1 to 6"),
        ("2:result.nothing=1", "there is items, total"),
        ("2:result.items[3]=1", "no 3"),
        ("2:result.total.x=1", "no 'x'"),
        ("3:arguments.id=9", "made by the agent"),
        ("2:arguments.nothing=9", "there is id"),
        ("2:arguments={}", "names that the tool has"),
        ("2:state.status=1", "no checkpoint"),
        ("0:result=1", "has steps 1 to 6"),
        ("2:result.items.price=1", "the list has 1 items"),
        ("5:state.status=1", "--prefix restore"),
        ("5:result=1", "no call"),
        ("2:other=1", "cannot be edited"),
        ("4:result.x=1", "only an error"),
        ("3:documents[4].text=1", "no such document"),
        ("2:documents[0].text=1", "of a retrieval"),
        ("6:result=1", "in doubt"),
    ],
)
def test_an_edit_that_cannot_be_made_says_why(source: DirectoryRunSource, text: str, words: str) -> None:
    with pytest.raises(BadEdit, match=words):
        edited(source, text)
