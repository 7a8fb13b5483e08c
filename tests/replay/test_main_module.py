"""A script's classes belong to ``__main__`` again, and what it does when it is started is not done twice."""

from __future__ import annotations

import pytest

from agentdbg.replay.main_module import MAIN, WORKER, compiled
from tests.support.replay_lab import ReplayLab

GUARDS = [
    'if __name__ == "__main__":\n    ran()',
    'if "__main__" == __name__:\n    ran()\nelse:\n    pass',
    'if __name__ != "__main__":\n    pass\nelse:\n    ran()',
    'ran() if __name__ == "__main__" else None',
    'if True and __name__ == "__main__":\n    ran()',
    'if __name__ == "__main__" and True:\n    ran()',
    'class A:\n    if __name__ == "__main__":\n        ran()',
    'if not __name__ == "__main__":\n    pass\nelse:\n    ran()',
    'if __name__ in ("__main__", "x"):\n    ran()',
    'here = __name__\nif here == "__main__":\n    ran()',
    'match __name__:\n    case "__main__":\n        ran()',
    '{"__main__": ran}.get(__name__ + "", lambda: 0)()',
]


@pytest.mark.parametrize("guard", GUARDS)
def test_what_is_guarded_does_not_run(guard: str) -> None:
    runs: list[int] = []
    code, name = compiled(guard.encode(), "script.py")
    exec(code, {"__name__": name, "ran": lambda: runs.append(1)})
    assert not runs


@pytest.mark.parametrize("guard", GUARDS[:8])
def test_common_guards_keep_the_name(guard: str) -> None:
    assert compiled(guard.encode(), "script.py")[1] == MAIN


def test_a_name_that_is_passed_on_decides_nothing() -> None:
    assert compiled(b"import logging\nlog = logging.getLogger(__name__)\n", "script.py")[1] == MAIN
    assert compiled(b"def f():\n    return __name__\n", "script.py")[1] == MAIN
    assert compiled(b"x = __name__\n", "script.py")[1] == WORKER


def test_lines_and_encoding_stay() -> None:
    code, name = compiled('# -*- coding: latin-1 -*-\n\nx = "é"\n\ndef f():\n    pass\n'.encode("latin-1"), "s.py")
    found: dict[str, object] = {"__name__": name}
    exec(code, found)
    assert found["x"] == "é"
    assert found["f"].__code__.co_firstlineno == 5  # type: ignore[attr-defined]  # a function


def test_names_of_the_programs_own_classes_in_a_prompt(lab: ReplayLab) -> None:
    lab.record("""\
        import dataclasses, logging, traceback
        import agentdbg

        @dataclasses.dataclass
        class Order:
            n: int

        class Lost(Exception):
            pass

        @agentdbg.tool(effect="read")
        def look(text):
            return text

        @agentdbg.agent
        def run():
            try:
                raise Lost("parcel")
            except Lost:
                text = traceback.format_exc()
            return look(f"{text} {type(Order(1))} {Order.__module__} {logging.getLogger(__name__).name}")

        if __name__ == "__main__":
            print(run())
        """)
    outcome = lab.replay()
    assert outcome.verdict == "identical", outcome.reason
