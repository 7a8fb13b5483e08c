"""A run travels as one file and arrives as it was; a hostile pack touches nothing and says why in one line."""

from __future__ import annotations

import io
import json
import os
import tarfile
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentdbg.model.hashing import sha256_hex
from agentdbg.model.records import RunStatus
from agentdbg.redaction.gate import Gate
from agentdbg.store import packs
from agentdbg.store.directory import DirectoryStore
from agentdbg.store.files import StoreError
from agentdbg.store.pack_stream import PackError, PackReader
from agentdbg.store.packs import HoldsSecrets, PackedRunSource, extract, pack, unpack
from agentdbg.store.protocols import BodyMissing
from agentdbg.store.reader import DirectoryRunSource
from tests.support.pack_files import FILES, HOSTILE, RUN, manifest, pack_of
from tests.support.run_records import RunRecords
from tests.support.secret_samples import secrets


@pytest.fixture
def run(tmp_path: Path) -> DirectoryRunSource:
    """A run with a large body, machine paths and a note."""
    records = RunRecords(
        tmp_path / "store",
        RUN,
        started_at=1_770_000_000.0,
        roots={"root": "/home/ann/desk"},
        entry={"callable": {"module": "desk"}, "cwd": "{root}", "roots": {"root": "/home/ann/desk"}},
        seal="abc",
    )
    records.model("m", [{"role": "user", "content": "退款"}], {"choices": []}, usage={"input": 1, "output": 2})
    records.tool("read", {"id": 1}, "long " * 100_000)
    records.tool("refund", {"amount": 5}, {"ok": True}, effect="external", key="k-1")
    return DirectoryRunSource(records.end("ok", ended_at=1_770_000_009.0))


def packed(source: DirectoryRunSource, *, skeleton: bool = False) -> bytes:
    out = io.BytesIO()
    pack(source, out, skeleton=skeleton, tool="agentdbg 0")
    return out.getvalue()


def opened(raw: bytes, into: Path) -> PackedRunSource:
    into.mkdir(exist_ok=True)
    return PackedRunSource(extract(io.BytesIO(raw), into))


def everything_below(path: Path) -> dict[str, bytes]:
    return {str(p.relative_to(path)): p.read_bytes() if p.is_file() else b"" for p in sorted(path.rglob("*"))}


def test_a_pack_gives_back_the_run(run: DirectoryRunSource, tmp_path: Path) -> None:
    source = opened(packed(run), tmp_path / "there")
    assert list(source.steps()) == list(run.steps())
    assert source.problems() == []
    assert source.summary().run_id == RUN
    for step in run.steps():
        for ref in [step.arguments, step.result, *(segment.ref for segment in run.segments(step))]:
            if ref is not None:
                assert source.body(ref) == run.body(ref)


def test_equal_runs_give_equal_packs(run: DirectoryRunSource, tmp_path: Path) -> None:
    raw = packed(run)
    assert packed(run) == raw
    assert packed(opened(raw, tmp_path / "there")) == raw


def test_any_tar_looks_into_a_pack(run: DirectoryRunSource) -> None:
    with tarfile.open(fileobj=io.BytesIO(packed(run)), mode="r:gz") as tar:
        names = tar.getnames()
        file = tar.extractfile(names[0])
        assert file is not None
        listed = json.load(file)
    assert names[0] == f"{RUN}/manifest.json"
    assert [f"{RUN}/{entry['path']}" for entry in listed["members"]] == names[1:]
    assert {name.split("/")[1] for name in names[1:]} == {"run.json", "events", "bodies", "large"}


def test_machine_paths_stay_behind_and_the_seal_goes_along(run: DirectoryRunSource, tmp_path: Path) -> None:
    source = opened(packed(run), tmp_path / "there")
    meta = json.loads((source.root / "run.json").read_text(encoding="utf-8"))
    assert "/home/ann" not in json.dumps(meta)
    assert meta["seal"] == "abc"
    assert meta["entry"] == {"callable": {"module": "desk"}, "cwd": "{root}"}


def test_a_skeleton_has_everything_but_the_bodies(run: DirectoryRunSource, tmp_path: Path) -> None:
    source = opened(packed(run, skeleton=True), tmp_path / "there")
    assert list(source.steps()) == list(run.steps())
    assert source.summary().holes == ("bodies were left out when this run was packed",)
    result = run.steps()[1].result
    assert result is not None
    with pytest.raises(BodyMissing):
        source.body(result)
    assert len(packed(run, skeleton=True)) < len(packed(run))


def test_what_others_cannot_read_is_private(run: DirectoryRunSource, tmp_path: Path) -> None:
    source = opened(packed(run), tmp_path / "there")
    modes = {p.stat().st_mode & 0o777 for p in [source.root, *source.root.rglob("*")]}
    assert modes == {0o700, 0o600}


def test_a_run_that_is_still_recorded_is_packed_as_far_as_it_is(tmp_path: Path) -> None:
    records = RunRecords(tmp_path / "store", RUN)
    records.tool("read", {"id": 1}, 1)
    live = DirectoryRunSource(records.directory)
    assert live.summary().status is RunStatus.RUNNING
    source = opened(packed(live), tmp_path / "there")
    assert len(source.steps()) == 2
    assert source.summary().status is RunStatus.LOST
    assert "this run was packed while it was still being recorded" in source.summary().holes
    records.end()


def test_a_pack_grows_while_it_is_read_from_a_pipe(run: DirectoryRunSource, tmp_path: Path) -> None:
    receiving, sending = os.pipe()

    def send() -> None:
        with os.fdopen(sending, "wb") as out:
            pack(run, out)

    thread = threading.Thread(target=send)
    thread.start()
    with os.fdopen(receiving, "rb") as stream:
        (tmp_path / "there").mkdir()
        unpacked = extract(stream, tmp_path / "there")
    thread.join()
    assert not unpacked.problems


def test_a_secret_is_not_packed_unasked(tmp_path: Path) -> None:
    records = RunRecords(tmp_path / "store", RUN)
    records.tool("login", {"api_key": secrets()["openai"]}, "ok")
    source = DirectoryRunSource(records.end())
    out = io.BytesIO()
    with pytest.raises(HoldsSecrets, match=r"what looks like secrets stands in 1 places of the run \(body "):
        pack(source, out, gate=Gate())
    assert out.getvalue() == b""
    pack(source, out, skeleton=True, gate=Gate())
    with_bodies = io.BytesIO()
    pack(source, with_bodies)
    assert len(with_bodies.getvalue()) > len(out.getvalue())


def test_a_redacted_run_passes_the_gate(tmp_path: Path) -> None:
    from agentdbg.config.resources import demo_runs_dir

    for directory in (demo_runs_dir() / "runs").iterdir():
        pack(DirectoryRunSource(directory, check_modes=False), io.BytesIO(), gate=Gate())


def test_links_and_strange_files_of_a_run_are_left_out(run: DirectoryRunSource, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("private")
    (run.root / "bodies" / "link.jsonl").symlink_to(tmp_path / "outside")
    os.mkfifo(run.root / "events" / "pipe.jsonl")
    done = pack(run, out := io.BytesIO())
    assert set(done.left_out) == {"bodies/link.jsonl", "events/pipe.jsonl"}
    assert b"private" not in out.getvalue()


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_pack_touches_nothing_and_is_one_line(what: str, tmp_path: Path) -> None:
    target = tmp_path / "outer" / "inner"
    target.mkdir(parents=True)
    with pytest.raises(StoreError) as caught:
        extract(io.BytesIO(HOSTILE[what]), target)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300
    written = [name for name in everything_below(tmp_path) if not f"{name}/".startswith(f"outer/inner/{RUN}/")]
    assert written == ["outer", "outer/inner"]
    assert not Path("/tmp/agentdbg-was-here").exists()
    links = [path for path in target.rglob("*") if path.is_symlink() or not (path.is_file() or path.is_dir())]
    assert links == []


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_pack_leaves_a_store_as_it_was(what: str, tmp_path: Path) -> None:
    store = DirectoryStore(RunRecords(tmp_path / "store", "mine").end().parents[1])
    before = everything_below(tmp_path)
    with pytest.raises(StoreError):
        unpack(io.BytesIO(HOSTILE[what]), store)
    assert everything_below(tmp_path) == before


def test_the_listed_hostile_packs_are_hostile_by_one_thing_only(tmp_path: Path) -> None:
    assert extract(io.BytesIO(pack_of()), tmp_path).problems == ()


def test_a_bomb_is_stopped_early(tmp_path: Path) -> None:
    zeros = bytes(200 << 20)
    raw = pack_of({"run.json": zeros}, listed=manifest({"run.json": zeros}))
    reader = PackReader(io.BytesIO(raw), free=1 << 20)
    with pytest.raises(PackError, match="each byte of the pack inflates to more than 250; it is refused"):
        for _ in reader.members():
            for _ in reader.pieces():
                pass
    with pytest.raises(PackError, match="each byte of the pack inflates"):
        extract(io.BytesIO(raw), tmp_path)
    assert not (tmp_path / RUN / "run.json").exists()


def test_a_pack_beyond_all_bounds_is_refused() -> None:
    reader = PackReader(io.BytesIO(pack_of({"run.json": os.urandom(300_000)})), max_total=100_000)
    with pytest.raises(PackError, match="inflates to more than 100,000 bytes"):
        list(reader.members())


def test_a_file_with_a_wrong_hash_is_left_out_and_the_rest_shown(run: DirectoryRunSource, tmp_path: Path) -> None:
    files = {str(p.relative_to(run.root)): p.read_bytes() for p in run.root.rglob("*") if p.is_file()}
    name = next(name for name in files if name.startswith("large/"))
    raw = pack_of({**files, name: files[name][:-1] + b"!"}, listed=manifest(files))
    source = opened(raw, tmp_path / "there")
    assert source.problems()[0] == f"{name} does not have the hash that the pack's manifest names; it is left out"
    assert list(source.steps()) == list(run.steps())
    missing = [s.result for s in run.steps() if s.result and s.result.size > 300_000]
    with pytest.raises(BodyMissing):
        source.body(missing[0])
    with pytest.raises(PackError, match=r"nothing was unpacked, 'agentdbg show PACK' prints what is left"):
        unpack(io.BytesIO(raw), DirectoryStore(tmp_path / "other"))


def test_a_file_that_is_listed_and_not_there_is_told(tmp_path: Path) -> None:
    raw = pack_of({"run.json": FILES["run.json"]}, listed=manifest())
    assert extract(io.BytesIO(raw), tmp_path).problems == ("events/aaaaaaaaaaaa.jsonl is not in the pack",)


def test_a_cut_pack_shows_what_arrived(run: DirectoryRunSource, tmp_path: Path) -> None:
    raw = packed(run)
    shown = set()
    for number, size in enumerate(range(0, len(raw), max(1, len(raw) // 40))):
        try:
            source = opened(raw[:size], tmp_path / str(number))
        except StoreError as problem:
            assert "\n" not in str(problem)
            continue
        assert source.problems()[0].startswith("the pack ends early: ")
        shown.add(len(source.steps()))
        for step in source.steps():
            if step.result is not None:
                try:
                    assert sha256_hex(source.body(step.result)) == step.result.sha256
                except BodyMissing:
                    continue
    assert max(shown) == len(run.steps())
    assert opened(raw[:-1], tmp_path / "last").problems() == ["the pack ends early: 4 of 4 files are whole"]
    assert opened(raw + b"x", tmp_path / "more").problems()[0].startswith("something follows the end of the pack")


def test_a_run_that_is_there_already_is_not_replaced(run: DirectoryRunSource, tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path / "store")
    before = everything_below(store.path)
    with pytest.raises(StoreError, match=f"there is a run {RUN} in .* already"):
        unpack(io.BytesIO(packed(run)), store)
    assert everything_below(store.path) == before


def test_a_pack_is_unpacked_into_a_new_store(run: DirectoryRunSource, tmp_path: Path) -> None:
    store = DirectoryStore(tmp_path / "new")
    assert unpack(io.BytesIO(packed(run)), store).run_id == RUN
    assert [row.run_id for row in DirectoryStore(tmp_path / "new").summaries()] == [RUN]
    source = store.open(RUN)
    assert list(source.steps()) == list(run.steps())
    assert not source.problems()
    assert sorted(p.name for p in (tmp_path / "new" / "runs").iterdir()) == [RUN]


def test_a_file_that_shrinks_meanwhile_is_told(run: DirectoryRunSource, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packs, "read_at", lambda fd, size, offset: b"")
    with pytest.raises(StoreError, match="became shorter while it was packed"):
        pack(run, io.BytesIO())


@settings(max_examples=150, deadline=None)
@given(place=st.floats(min_value=0, max_value=1, exclude_max=True), value=st.integers(min_value=0, max_value=255))
def test_a_changed_byte_never_gives_a_wrong_run(
    place: float, value: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    raw = bytearray(pack_of(FILES))
    raw[int(place * len(raw))] = value
    into = tmp_path_factory.mktemp("there")
    try:
        unpacked = extract(io.BytesIO(bytes(raw)), into)
    except StoreError:
        return
    for path in unpacked.directory.rglob("*"):
        name = str(path.relative_to(unpacked.directory))
        if path.is_file():
            assert path.read_bytes() == FILES[name]
