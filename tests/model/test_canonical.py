"""The typed encoding: lossless, injective, the same with and without orjson."""

from __future__ import annotations

import datetime as dt
import json
import math
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentdbg.model import json_text as subject
from agentdbg.model.canonical import canonical, dumps, loads

texts = st.text(st.characters(exclude_categories=())) | st.text()
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(2**62, 2**70)
    | st.floats()
    | texts
    | st.binary(max_size=8)
    | st.decimals(allow_nan=False)
    | st.uuids()
    | st.datetimes(timezones=st.none() | st.just(dt.UTC))
    | st.dates()
    | st.timedeltas()
)
hashable = st.none() | st.booleans() | st.integers() | texts | st.binary(max_size=4) | st.tuples(st.integers(), texts)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(hashable, inner, max_size=4)
        | st.tuples(inner, inner)
        | st.sets(hashable, max_size=3)
        | st.frozensets(hashable, max_size=3)
    ),
    max_leaves=12,
)


def same(a: object, b: object) -> bool:
    """Equality that tells 1 from 1.0 from True, and takes NaN for NaN."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float) and isinstance(b, float):
        return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    if isinstance(a, dict) and isinstance(b, dict):
        pairs = zip(sorted(a.items(), key=_order), sorted(b.items(), key=_order), strict=False)
        return len(a) == len(b) and all(same(x, y) for left, right in pairs for x, y in zip(left, right, strict=True))
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


def _order(pair: tuple[object, object]) -> str:
    return f"{type(pair[0]).__name__} {pair[0]!r}"


@given(values)
@settings(deadline=None)
def test_what_is_written_reads_back_as_it_was(value: object) -> None:
    assert same(loads(dumps(value)), value)
    assert same(loads(canonical(value)), value)


@given(values, values)
@settings(deadline=None)
def test_different_values_never_share_their_canonical_bytes(a: object, b: object) -> None:
    assert (canonical(a) == canonical(b)) == same(a, b)


@given(st.dictionaries(texts, values, max_size=5), st.randoms())
@settings(deadline=None)
def test_key_order_does_not_count(mapping: dict[str, object], random: object) -> None:
    keys = list(mapping)
    random.shuffle(keys)  # type: ignore[attr-defined]
    assert canonical({key: mapping[key] for key in keys}) == canonical(mapping)


@given(values)
@settings(deadline=None)
def test_the_bytes_are_the_same_without_orjson(value: object) -> None:
    fast = dumps(value), canonical(value)
    kept = vars(subject)["orjson"]
    vars(subject)["orjson"] = None
    try:
        assert (dumps(value), canonical(value)) == fast
        assert same(loads(fast[0]), value)
    finally:
        vars(subject)["orjson"] = kept


@given(values)
@settings(deadline=None)
def test_the_output_is_json_that_any_reader_takes(value: object) -> None:
    json.loads(dumps(value).decode())


def test_it_works_in_an_interpreter_that_has_no_orjson() -> None:
    program = (
        "import sys; sys.modules['orjson'] = None\n"
        "from agentdbg.model.canonical import canonical\n"
        "print(canonical({'b': 1e-7, 'a': [1, 2.5, 'ü', 2**70]}).decode())"
    )
    found = subprocess.run([sys.executable, "-X", "utf8", "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == canonical({"b": 1e-7, "a": [1, 2.5, "ü", 2**70]}).decode()


@pytest.mark.parametrize(
    ("a", "b"),
    [(1, 1.0), (1, True), (0, False), (2**70, 2**70 + 1), ((1,), [1]), ({1: 2}, {"1": 2}), (0.0, -0.0), ("a", b"a")],
)
def test_look_alikes_stay_apart(a: object, b: object) -> None:
    assert canonical(a) != canonical(b)


@pytest.mark.parametrize("trap", ["\ud99c", "a\u2028b\u0085c\r\n", "\\ud99c", "\ud800\udc00", "x\\y\ud800", "\0\x7f"])
def test_awkward_text_survives(trap: str) -> None:
    assert loads(dumps([trap, {trap: 1}])) == [trap, {trap: 1}]
