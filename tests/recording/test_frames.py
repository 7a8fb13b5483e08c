"""The frame that is named for an effect is the program's own, and none where the recorder acts itself."""

from __future__ import annotations

import os
from types import FrameType

from agentdbg.recording import frames
from agentdbg.recording.frames import PACKAGE, place_of, rank_of, witness

HERE = os.path.abspath(__file__)


def called_from(*files: str) -> FrameType | None:
    """What ``witness`` says below functions of these files, outermost first."""
    found: list[FrameType | None] = []
    namespace: dict[str, object] = {"ask": lambda: found.append(witness())}
    exec(compile("def f0(): ask()", files[-1], "exec"), namespace)
    for number, file in enumerate(reversed(files[:-1]), 1):
        exec(compile(f"def f{number}(): f{number - 1}()", file, "exec"), namespace)
    namespace[f"f{len(files) - 1}"]()  # type: ignore[operator]  # a function
    return found[0]


def own(name: str) -> str:
    return PACKAGE + name.replace("/", os.sep)


def test_the_innermost_frame_of_the_program_is_named(monkeypatch) -> None:
    monkeypatch.setattr(frames, "_SELF", (*frames._SELF, HERE))
    library, standard = "/v/lib/site-packages/lib.py", frames._STDLIB + "socket.py"
    found = called_from("/p/main.py", "/p/tool.py", library, standard)
    assert found is not None and place_of(found) == "/p/tool.py:1 f2"
    found = called_from("/p/tool.py", own("recording/drive.py"), library, standard)
    assert found is not None and found.f_code.co_filename == "/p/tool.py"
    found = called_from(own("recording/drive.py"), "/p/tool.py", own("recording/http_seam.py"), standard)
    assert found is not None and found.f_code.co_filename == "/p/tool.py"


def test_the_recorders_own_work_has_no_witness(monkeypatch) -> None:
    monkeypatch.setattr(frames, "_SELF", (*frames._SELF, HERE))
    standard = frames._STDLIB + "subprocess.py"
    assert called_from("/p/tool.py", own("store/disk.py")) is None
    assert called_from("/p/tool.py", own("recording/run.py"), own("recording/git_state.py"), standard) is None
    wrapper = own("recording/children.py")
    assert called_from(frames._STDLIB + "threading.py", own("recording/git_state.py"), wrapper, standard) is None
    started = called_from("/p/tool.py", wrapper, standard)
    assert started is not None and started.f_code.co_filename == "/p/tool.py"
    finalizer = called_from("/p/tool.py", own("store/disk.py"), "/p/closer.py", frames._STDLIB + "os.py")
    assert finalizer is not None and finalizer.f_code.co_filename == "/p/closer.py"


def test_how_far_files_are_from_the_program() -> None:
    names = [
        "/p/x.py",
        "/v/lib/python3.11/site-packages/a.py",
        frames._STDLIB + "os.py",
        "<frozen importlib>",
        own("store/disk.py"),
    ]
    assert [rank_of(name) for name in names] == [0, 1, 2, 2, 3]
    assert rank_of(own("demo/refund_desk.py")) == 0
