"""A damaged journal costs only what is damaged."""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentdbg.store import records
from agentdbg.store.records import (
    RecordScanner,
    is_intact,
    iter_records,
    parse_record,
    read_line,
    skim_record,
    split_lines,
)
from tests.support.records import record

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40) | st.sampled_from(
    ["\u2028", "\x85", "\r", '","_c":"00000000"}']
)
members = st.fixed_dictionaries({"e": texts, "seq": st.integers(0, 2**70)}, optional={"x": texts, "y": st.lists(texts)})


def read_all(path: Path, chunk: int = records.CHUNK) -> tuple[list[tuple[int, bytes]], RecordScanner]:
    scanner = RecordScanner()
    found: list[tuple[int, bytes]] = []
    fd = os.open(path, os.O_RDONLY)
    try:
        while True:
            before = scanner.position
            found += [(offset, line) for offset, _, line in scanner.read(fd, chunk)]
            if scanner.position == before:
                return found, scanner
    finally:
        os.close(fd)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("journal") / "w.jsonl"


@given(written=st.lists(members, max_size=8), chunk=st.integers(1, 300))
def test_every_record_comes_back_whatever_text_it_holds(
    path: Path, written: list[dict[str, object]], chunk: int
) -> None:
    data = b"".join(map(record, written))
    path.write_bytes(data)
    found, scanner = read_all(path, chunk)
    parsed = [{key: value for key, value in (parse_record(line) or {}).items() if key != "_c"} for _, line in found]
    assert parsed == written
    assert (scanner.bad, scanner.pending, scanner.position) == (0, 0, len(data))
    assert all(data[offset:].startswith(line + b"\n") for offset, line in found)


@given(written=st.lists(members, min_size=1, max_size=5), cut=st.integers(0, 10_000))
def test_a_record_cut_short_costs_itself_only(path: Path, written: list[dict[str, object]], cut: int) -> None:
    whole = [record(item) for item in written]
    torn = whole[0][: cut % len(whole[0])]
    path.write_bytes(torn + b"".join(whole[1:]))
    found, scanner = read_all(path)
    assert [line for _, line in found][-len(whole) + 1 :] == [item.strip(b"\n") for item in whole[1:]] or len(
        whole
    ) == 1
    assert scanner.bad <= 1


@given(written=st.lists(members, min_size=1, max_size=4), data=st.data())
def test_a_flipped_bit_costs_one_record_and_is_counted(
    path: Path, written: list[dict[str, object]], data: st.DataObject
) -> None:
    whole = bytearray(b"".join(map(record, written)))
    position = data.draw(st.integers(0, len(whole) - 1))
    whole[position] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(whole)
    found, scanner = read_all(path)
    kept = [parse_record(line) for _, line in found]
    intact = {item.strip() for item in map(record, written)}  # a damaged newline may be another white space
    assert all(line.strip() in intact for _, line in found)
    assert len(kept) >= len(written) - 2
    assert len(kept) == len(written) or scanner.bad >= 1 or scanner.pending


@given(st.binary(max_size=300), st.integers(1, 64))
def test_no_bytes_crash_the_scanner(path: Path, noise: bytes, chunk: int) -> None:
    path.write_bytes(noise)
    _, scanner = read_all(path, chunk)
    assert scanner.position + scanner.pending == len(noise)


@given(st.binary(max_size=300))
def test_lines_are_split_on_newlines_alone(data: bytes) -> None:
    lines, consumed, count = split_lines(data)
    assert consumed == data.rfind(b"\n") + 1
    assert count == data[:consumed].count(b"\n")
    assert [line for _, _, line in lines] == [line for line in data[:consumed].split(b"\n") if line]
    assert all(data[offset : offset + len(line)] == line for offset, _, line in lines)


def test_a_damaged_line_is_named_by_its_line_number(path: Path) -> None:
    lines = [record({"e": "step", "seq": i}) for i in range(7000)]
    lines[1999] = lines[1999].replace(b'"step"', b'"stop"')
    path.write_bytes(b"".join(lines) + b'\n{"e":"st')
    found, scanner = read_all(path)
    assert len(found) == 6999
    assert scanner.bad_lines == [4000]
    assert scanner.pending == len(b'{"e":"st')


def test_a_growing_last_line_is_read_when_it_is_complete(path: Path) -> None:
    scanner, whole = RecordScanner(), record({"e": "step", "text": "日本"})
    seen: list[bytes] = []
    with open(path, "wb", buffering=0) as file, open(path, "rb") as reader:
        for i in range(len(whole)):
            file.write(whole[i : i + 1])
            seen += [line for _, _, line in scanner.read(reader.fileno())]
            assert len(seen) == (i >= len(whole) - 2), "taken as soon as it is whole, and once"
        seen += [line for _, _, line in scanner.read(reader.fileno())]
    assert seen == [whole.strip(b"\n")]
    assert scanner.bad == 0


def test_a_line_of_twelve_megabytes_is_a_record_like_any_other(path: Path) -> None:
    path.write_bytes(record({"e": "step", "big": "x" * 12_000_000}) + record({"e": "step", "seq": 2}))
    found, scanner = read_all(path)
    assert [len(line) > 12_000_000 for _, line in found] == [True, False]
    assert scanner.bad == 0
    fd = os.open(path, os.O_RDONLY)
    assert read_line(fd, found[0][0]) == found[0][1]
    os.close(fd)


def test_a_line_without_end_is_passed_over_with_bounded_memory(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MAX_LINE", 1000)
    path.write_bytes(b"x" * 5000 + record({"e": "step"}))
    found, scanner = read_all(path, 64)
    assert len(found) == 1
    assert scanner.bad >= 1


def test_deep_nesting_is_read(path: Path) -> None:
    deep: object = 1
    for _ in range(200):
        deep = [deep]
    path.write_bytes(record({"e": "step", "deep": deep}))
    ((_, line),), _ = read_all(path)
    assert (parse_record(line) or {})["deep"] == deep


def test_nesting_beyond_reason_is_no_record_and_no_crash() -> None:
    line = record({"e": "step"}).strip(b"\n").replace(b'"step"', b"[" * 100_000)
    assert parse_record(line) is None
    assert skim_record(line) is None


def test_bytes_that_are_not_utf8_do_not_hide_a_record() -> None:
    head = b'{"e":"step","name":"caf\xe9 \xff"'
    line = b'%b,"_c":"%08x"}' % (head, zlib.crc32(head))
    assert is_intact(line)
    assert (parse_record(line) or {})["name"] == "caf\ufffd \ufffd"
    assert (skim_record(line) or {})["e"] == "step"


def test_big_integers_and_lone_surrogates_are_kept() -> None:
    text = json.dumps({"seed": 2**70 + 1, "out": "\ud99c"})[:-1].encode()
    line = b'%b,"_c":"%08x"}' % (text, zlib.crc32(text))
    assert parse_record(line) == {"seed": 2**70 + 1, "out": "\ud99c", "_c": f"{zlib.crc32(text):08x}"}


@pytest.mark.parametrize(
    "line", [b"{}", b'{"e":"step"}', b'{"e":"step","_c":"zz"}', b'{"e":"x","_c":"00000000"}', b"\x00" * 512, b"[1]"]
)
def test_a_line_without_its_checksum_is_not_intact(line: bytes) -> None:
    assert not is_intact(line)


def test_a_writer_that_puts_spaces_into_its_json_is_read_too() -> None:
    head = b'{"e": "step", "seq": 1'
    assert is_intact(b'%b,"_c": "%08x" }\r' % (head, zlib.crc32(head)))


def test_something_intact_that_is_no_object_is_no_record() -> None:
    assert parse_record(b"[1, 2]") is None
    assert parse_record(b"{") is None


def test_all_records_of_a_file_can_be_walked(path: Path) -> None:
    path.write_bytes(record({"a": 1}) + b"noise\n" + record({"a": 2}))
    fd = os.open(path, os.O_RDONLY)
    assert [parse_record(line)["a"] for _, line in iter_records(fd)] == [1, 2]  # type: ignore[index]
    os.close(fd)
