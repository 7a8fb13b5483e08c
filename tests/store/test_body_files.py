"""A body is what its hash says, found wherever it lies in the run, or it is missing."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentdbg.model.records import BodyRef
from agentdbg.store import body_files
from agentdbg.store.body_files import BodyFiles
from agentdbg.store.protocols import BodyMissing
from tests.support.records import WRITER, body_record, record, write_private, write_run


def named(data: bytes, file: str = "", offset: int = -1) -> BodyRef:
    return BodyRef(hashlib.sha256(data).hexdigest(), len(data), file, offset)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("bodies"))


@given(
    bodies=st.lists(
        st.binary(max_size=60) | st.text(max_size=20).map(lambda t: t.encode("utf-8", "replace")),
        unique=True,
        max_size=6,
    ),
    shift=st.integers(-5, 400),
)
def test_bodies_are_found_with_a_right_or_a_wrong_hint(shared: Path, bodies: list[bytes], shift: int) -> None:
    path = shared / "bodies" / f"{WRITER}.jsonl"
    write_private(path, b"".join(map(body_record, bodies)))
    files, offset = BodyFiles(shared), 0
    for data in bodies:
        assert files.read(named(data, f"bodies/{WRITER}.jsonl", offset + 1)) == data
        assert files.read(named(data, f"bodies/{WRITER}.jsonl", offset + shift)) == data
        offset += len(body_record(data))
    files.close()


@given(data=st.data())
def test_a_flipped_bit_is_never_served(shared: Path, data: st.DataObject) -> None:
    body = b"the body, \xff as it was"
    damaged = bytearray(body_record(body))
    damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    write_private(shared / "bodies" / f"{WRITER}.jsonl", bytes(damaged))
    files = BodyFiles(shared)
    try:
        assert files.read(named(body, f"bodies/{WRITER}.jsonl", 1)) == body
    except BodyMissing:
        pass
    finally:
        files.close()


def test_a_body_written_later_is_found(tmp_path: Path) -> None:
    root = write_run(tmp_path, bodies=[b"one"])
    files = BodyFiles(root)
    with pytest.raises(BodyMissing):
        files.read(named(b"two"))
    with open(root / "bodies" / f"{WRITER}.jsonl", "ab") as file:
        file.write(body_record(b"two"))
    assert files.read(named(b"two")) == b"two"
    files.forget()
    assert files.read(named(b"one")) == b"one"


def test_large_bodies_lie_in_files_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write_run(tmp_path)
    (root / "large").mkdir()
    big = b"x" * 300_000
    (root / "large" / named(big).sha256).write_bytes(big)
    assert BodyFiles(root).read(named(big, f"large/{named(big).sha256}")) == big
    monkeypatch.setattr(body_files, "MAX_BODY", 1000)
    with pytest.raises(BodyMissing, match="larger than"):
        BodyFiles(root).read(named(big))


def test_links_fifos_and_damage_are_missing_bodies(tmp_path: Path) -> None:
    root = write_run(tmp_path, bodies=[b"kept"])
    (root / "large").mkdir()
    (tmp_path / "secret").write_bytes(b"secret")
    (root / "large" / named(b"secret").sha256).symlink_to(tmp_path / "secret")
    os.mkfifo(root / "large" / named(b"pipe").sha256)
    os.mkfifo(root / "bodies" / "pipe.jsonl")
    (root / "bodies" / "link.jsonl").symlink_to(tmp_path / "secret")
    files = BodyFiles(root)
    for data, file in ((b"secret", "bodies/link.jsonl"), (b"pipe", "bodies/pipe.jsonl"), (b"x", "bodies/../../secret")):
        with pytest.raises(BodyMissing):
            files.read(named(data, file, 0))
    assert files.read(named(b"kept")) == b"kept"


def test_records_in_another_spelling_are_found_and_forged_ones_are_not(tmp_path: Path) -> None:
    root = write_run(tmp_path)
    good, forged = named(b"good").sha256, named(b"forged").sha256
    lines: list[dict[str, object]] = [
        {"n": 4, "b": "good", "h": good},
        {"h": forged, "n": 6, "b": "forgot"},
        {"h": named(b"odd").sha256, "x": "***"},
        {"h": 7},
    ]
    write_private(root / "bodies" / f"{WRITER}.jsonl", b"".join(map(record, lines)))
    files = BodyFiles(root)
    assert files.read(named(b"good")) == b"good"
    for lost in (b"forged", b"odd"):
        with pytest.raises(BodyMissing):
            files.read(named(lost))


def test_many_body_files_need_few_handles(tmp_path: Path) -> None:
    root = write_run(tmp_path)
    for i in range(30):
        write_private(root / "bodies" / f"{i:012x}.jsonl", body_record(b"body %d" % i))
    files = BodyFiles(root)
    assert [files.read(named(b"body %d" % i)) for i in range(30)] == [b"body %d" % i for i in range(30)]
    assert len(files._fds) <= 8
    files.close()


def test_a_forged_record_and_an_unreadable_file_hide_no_true_body(tmp_path: Path) -> None:
    root = write_run(tmp_path)
    forged = record({"h": named(b"true").sha256, "n": 4, "b": "lie!"})
    write_private(root / "bodies" / "000000000000.jsonl", forged)
    write_private(root / "bodies" / "111111111111.jsonl", body_record(b"true") + body_record(b"also"))
    files = BodyFiles(root)
    assert files.read(named(b"true")) == b"true"
    opened = vars(body_files)["open_below"]

    def refuse(top: str | os.PathLike[str], *names: str) -> int:
        if names[-1] == "000000000000.jsonl":
            raise PermissionError(13, "Permission denied", names[-1])
        found: int = opened(top, *names)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(body_files, "open_below", refuse)
        assert BodyFiles(root).read(named(b"also")) == b"also"
