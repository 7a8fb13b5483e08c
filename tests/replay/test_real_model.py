"""A small language model in place of rules: what a replay says holds for answers that nobody scripted.

Needs REAL_MODEL_URL, the base URL of an OpenAI-compatible server (``-m real_model``).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.program import agentdbg, document

PROGRAM = """\
import json, os, sys
from openai import OpenAI

SYSTEM = "You sort letters to a shop."
SORTED = {"type": "function", "function": {"name": "sort_letter", "parameters": {
    "type": "object", "required": ["box"],
    "properties": {"box": {"type": "string", "enum": ["refund", "praise", "other"]}}}}}


def sort_letter(box):
    with open("boxes.txt", "a") as file:
        file.write(box + "\\n")
    return "put into " + box


def main():
    heat = float(sys.argv[1])
    client = OpenAI(base_url=os.environ["REAL_MODEL_URL"], api_key="none", timeout=120)
    messages = [{"role": "system", "content": SYSTEM},
                {"role": "user", "content": "The kettle broke after a day. I want my money back."}]
    choice = {"type": "function", "function": {"name": "sort_letter"}}
    answer = client.chat.completions.create(model="real", messages=messages, tools=[SORTED], tool_choice=choice,
                                            temperature=heat, max_tokens=48).choices[0].message
    for call in answer.tool_calls or ():
        given = json.loads(call.function.arguments)
        messages += [{"role": "assistant", "content": given["box"]}, {"role": "user", "content": sort_letter(**given)}]
    last = client.chat.completions.create(model="real", messages=messages, temperature=heat, max_tokens=24)
    print(last.choices[0].message.content)


main()
"""
LONGEST = 300
TEMPERATURES = ("0", "0.9")

pytestmark = pytest.mark.real_model


class Shop:
    """The program in a directory of its own, recorded once."""

    def __init__(self, place: Path, temperature: str) -> None:
        self.place = place
        self.program = place / "sorter.py"
        self.program.write_text(PROGRAM, encoding="utf-8")
        self.options = ("--store", place / "store")
        words = ("record", "--run-id", "letter", "--tool", "sort_letter=write", "--", sys.executable, "sorter.py")
        done = agentdbg(*self.options, *words, temperature, cwd=place)
        assert done.returncode == 0, done.stderr

    def replay(self, *options: str) -> dict[str, Any]:
        return document("replay", "letter", *options, *self.options, cwd=self.place, timeout=LONGEST)

    def sorted_letters(self) -> int:
        return len((self.place / "boxes.txt").read_text(encoding="utf-8").splitlines())

    def change(self) -> None:
        text = self.program.read_text(encoding="utf-8")
        self.program.write_text(text.replace("to a shop.", "to a shop. Be kind."), encoding="utf-8")


@pytest.fixture(params=TEMPERATURES)
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Shop:
    return Shop(tmp_path, request.param)


def test_what_a_real_model_said_is_replayed_identically_without_it(shop: Shop) -> None:
    for _ in range(3):
        found = shop.replay("--exact")
        assert found["verdict"] == "identical", found["reason"]
        assert found["counts"]["live"] == 0
    assert shop.sorted_letters() == 1


def test_a_changed_prompt_is_asked_anew_and_its_samples_add_up(shop: Shop) -> None:
    shop.change()
    found = shop.replay("--regression", "--samples", "3")
    assert found["verdict"] in ("same", "changed", "flaky"), found["reason"]
    conclusions = [(tuple(each["path"]), each["final_state"]) for each in found["samples"]]
    agree, of = map(int, found["stability"].split("/"))
    assert of == len(conclusions)
    assert (found["verdict"] == "flaky") == (agree < of)
    assert found["counts"]["live"] >= len(conclusions)
    assert shop.sorted_letters() == 1


def test_the_first_call_is_asked_again_several_times(shop: Shop) -> None:
    number = next(
        each["step"] for each in document("show", "letter", *shop.options)["steps"] if each["kind"] == "model"
    )
    found = document("ask", "letter", "--step", str(number), "--samples", "4", "--yes", *shop.options, timeout=LONGEST)
    assert len(found["samples"]) == 4
    assert all(each.get("error") is None for each in found["samples"])


def test_at_temperature_zero_the_samples_agree(tmp_path: Path) -> None:
    shop = Shop(tmp_path, "0")
    shop.change()
    found = shop.replay("--regression", "--samples", "3")
    assert found["stability"] == "3/3", found["reason"]
