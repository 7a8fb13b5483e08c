"""A run as text and as JSON."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.effects import OUTSIDE
from tests.support.program import agentdbg, document
from tests.support.recorded import run


def test_the_document_holds_run_steps_and_effects(store: Path) -> None:
    found = document("show", "refund-7", "--store", store)
    assert found["schema"] == "agentdbg.show/1"
    assert found["run"]["run_id"] == "refund-7"
    assert [step["step"] for step in found["steps"]] == [1, 2, 3, 4, 5, 6]
    step = found["steps"][2]
    assert (step["kind"], step["name"], step["effect"], step["status"]) == ("tool", "refund", "external", "ok")
    assert step["parent"] == found["steps"][0]["id"]
    assert step["lane"] == "0"
    assert step["latency_ms"] == 12.0
    assert step["fingerprint"].startswith("fp1:")
    assert found["steps"][1]["input_hash"]
    assert found["steps"][1]["tokens"] == {"input": 120, "output": 8, "cached": None}
    assert [(e["step"], e["state"], e["repeated"]) for e in found["effects"]] == [
        (3, "done", False),
        (4, "done", True),
        (5, "in_doubt", False),
    ]


def test_one_step_comes_with_its_bodies(store: Path) -> None:
    tool = document("show", "refund-7", "--step", "3", "--store", store)["steps"]
    assert len(tool) == 1
    assert tool[0]["arguments"]["value"] == {"amount": 5}
    assert tool[0]["result"]["value"] == {"ok": True}
    model = document("show", "refund-7", "--step", "2", "--store", store)["steps"][0]
    assert [segment["kind"] for segment in model["segments"]] == ["parameters", "system", "message"]
    assert model["segments"][2]["value"]["content"] == "退款 \x1b[31mplease"


def test_a_step_that_is_not_there_is_one_line(store: Path) -> None:
    for option in ([], ["--json"]):
        done = agentdbg("show", "refund-7", "--step", "99", "--store", store, *option)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == "agentdbg: run refund-7 has no step 99; it has 6 steps\n"


def test_the_text_lists_every_step(store: Path) -> None:
    lines = agentdbg("show", "refund-7", "--store", store).stdout.splitlines()
    table = lines[lines.index("") + 1 :]
    assert table[0].split() == ["step", "kind", "effect", "status", "took", "name"]
    assert [line.split()[0] for line in table[1:]] == ["1", "2", "3", "4", "5", "6"]


def test_brief_fits_on_one_screen(store: Path) -> None:
    lines = agentdbg("show", "refund-7", "--brief", "--store", store).stdout.splitlines()
    assert len(lines) <= 24
    assert any("Down: [/z]" in line for line in lines)


def test_effects_are_listed_with_how_far_they_came(store: Path) -> None:
    lines = agentdbg("show", "refund-7", "--effects", "--store", store).stdout.splitlines()
    assert [line.split() for line in lines[1:]] == [
        ["3", "external", "done", "refund", "k-1", "–"],
        ["4", "external", "done", "refund", "k-1", "repeated"],
        ["5", "write", "in", "doubt", "notify", "–", "–"],
    ]
    assert agentdbg("show", "refund-8", "--effects", "--store", store).stdout == "nothing outside was changed\n"


@pytest.mark.parametrize(
    "options", [[], ["--brief"], ["--step", "2"], ["--step", "5"], ["--json"], ["--json", "--step", "2"]]
)
def test_no_control_character_of_the_record_reaches_the_terminal(options: list[str], store: Path) -> None:
    done = agentdbg("show", "refund-7", "--store", store, *options)
    assert done.returncode == 0
    assert not [c for c in done.stdout + done.stderr if (ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160]


def test_a_run_is_found_by_the_beginning_of_its_id_and_as_the_latest(store: Path) -> None:
    assert document("show", "mail", "--store", store)["run"]["run_id"] == "mail-9"
    assert document("show", "@", "--store", store)["run"]["run_id"] == "mail-9"


def test_unreadable_records_are_in_the_document_too(store: Path) -> None:
    (events,) = (store / "runs" / "refund-7" / "events").iterdir()
    with events.open("ab") as file:
        file.write(b'\n{"e":"step","seq":99,"_c":"00000000"}\n\n{"e":"int')
    problems = document("show", "refund-7", "--store", store)["run"]["problems"]
    assert any("1 unreadable" in problem for problem in problems), problems
    assert any("torn" in problem for problem in problems), problems


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a program that reaches outside in four ways, all of them past the seams."""
    folder = tmp_path_factory.mktemp("outside")
    done = run(folder, OUTSIDE)
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "store"


def test_effects_that_no_seam_saw_are_named_in_every_form(outside: Path) -> None:
    functions = ["post", "write_note", "start_process", "raw_socket"]
    text = agentdbg("show", "@", "--store", outside).stdout
    brief, steps = text.split("\n\n", 1)
    (line,) = [line for line in brief.splitlines() if line.startswith("not covered")]
    listed = [line for line in steps.splitlines() if " effect " in line and "column" not in line][1:]
    for function, row in zip(functions, listed, strict=True):
        assert f" {function})" in line and f" {function})" in row and "{root}/agent.py:" in row
    effects = agentdbg("show", "@", "--effects", "--store", outside).stdout
    assert effects.startswith("no recorded call changed anything outside\n\neffects that no seam saw\n")
    assert effects.count("not covered") == 4
    found = document("show", "@", "--store", outside)
    assert found["run"]["uncovered"] == 4
    assert [effect["frame"].rpartition(" ")[2] for effect in found["uncovered_effects"]] == functions
    assert [effect["step"] for effect in found["uncovered_effects"]] == [2, 3, 4, 5]
    assert found["uncovered_effects"][1]["detail"] == "{root}/note.txt"


def test_the_plan_of_a_replay_begins_with_what_it_has_to_stop(outside: Path) -> None:
    text = agentdbg("replay", "@", "--exact", "--plan", "--store", outside).stdout
    lines = [" ".join(line.split()) for line in text.splitlines()]
    told = [line for line in lines if "not served" in line]
    assert [line.partition("step ")[2][0] for line in told] == ["2", "3", "4", "5"]
    assert "file written {root}/note.txt ({root}/agent.py:" in " ".join(lines)
    assert lines.index(told[-1]) < next(n for n, line in enumerate(lines) if line.startswith("calls"))
