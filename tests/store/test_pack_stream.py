"""The archive around a pack: what is written is read, and nothing else is."""

from __future__ import annotations

import gzip
import io
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentdbg.store.pack_stream import PackError, PackReader, PackTorn, PackWriter, is_pack

NAMES = st.from_regex(r"[a-z]{1,40}(/[a-z]{1,90})?", fullmatch=True)


def written(files: dict[str, bytes], mtime: int = 0) -> bytes:
    out = io.BytesIO()
    writer = PackWriter(out, mtime=mtime)
    for name, data in files.items():
        writer.add(name, len(data), [data])
    writer.close()
    return out.getvalue()


def read(raw: bytes) -> dict[str, bytes]:
    reader = PackReader(io.BytesIO(raw))
    return {member.name: b"".join(reader.pieces()) for member in reader.members()}


@given(st.dictionaries(NAMES, st.binary(max_size=2000), max_size=4))
def test_what_is_written_is_read_by_us_and_by_tar(files: dict[str, bytes]) -> None:
    raw = written(files, mtime=7)
    assert is_pack(raw)
    assert read(raw) == files
    with tarfile.open(fileobj=io.BytesIO(raw), mode="r:gz") as tar:
        found = {info.name: (tar.extractfile(info) or io.BytesIO()).read() for info in tar}
    assert found == files


@given(st.binary(max_size=1500))
def test_no_bytes_break_the_reader(data: bytes) -> None:
    for raw in (data, gzip.compress(data), written({"a": b"b"})[:40] + data):
        try:
            read(raw)
        except PackError as problem:
            assert "\n" not in str(problem)


def test_members_may_be_passed_over() -> None:
    raw = written({"a": b"x" * 100_000, "b": b"y"})
    assert [member.name for member in PackReader(io.BytesIO(raw)).members()] == ["a", "b"]


@pytest.mark.parametrize("kind", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_another_programs_archive_is_refused(kind: int) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", format=kind) as tar:
        tar.addfile(tarfile.TarInfo("x" * 120))
    with pytest.raises(PackError):
        read(out.getvalue())


def test_an_archive_without_an_end_is_torn() -> None:
    raw = written({"a": b"x"})
    with pytest.raises(PackTorn, match="the pack ends early"):
        read(raw[: len(raw) // 2])


def test_content_of_another_length_is_not_written() -> None:
    with pytest.raises(PackError, match="a changed while it was packed"):
        PackWriter(io.BytesIO()).add("a", 5, [b"four"])


@pytest.mark.parametrize("name", ["x" * 101, "é", "x" * 160 + "/a"])
def test_a_name_that_does_not_fit_is_refused(name: str) -> None:
    with pytest.raises(PackError, match="a name that a pack cannot hold"):
        PackWriter(io.BytesIO()).add(name, 0, [])
