"""The quick way to a fingerprint gives the same fingerprint as the long one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentdbg.model.fingerprint import VolatileRules, drop_volatile, fingerprint
from agentdbg.model.records import Kind
from agentdbg.recording.encoding import encode
from agentdbg.recording.identity import CallIdentity
from agentdbg.redaction.gate import Gate
from agentdbg.redaction.keys import RedactionKey

GATE = Gate(RedactionKey(b"k" * 32, "k"), enabled=False)
keys = st.sampled_from(["a", "b", "request_id", "nonce", "at"]) | st.text(max_size=5)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(keys, values, max_size=4), st.sampled_from([(), ("$.a",), ("$.b.at",), ("$.a[*]",), ("$..é",)]))
def test_quick_and_long_agree(arguments: dict[str, object], paths: tuple[str, ...]) -> None:
    identity = CallIdentity()
    if paths:
        identity.declare("look", paths)
    kept, _ = drop_volatile(arguments, identity.volatile.for_call("look"))
    found = identity.fingerprint(Kind.TOOL, "look", encode(arguments, GATE), None)
    assert found == fingerprint("tool", "look", kept)


def test_a_replay_brings_the_recorded_rules() -> None:
    rules = VolatileRules("v1", {"*": ("$..stamp",)})
    identity = CallIdentity(rules)
    one, two = (identity.fingerprint(Kind.TOOL, "x", encode({"a": 1, "stamp": n}, GATE), None) for n in (1, 2))
    assert one == two and identity.volatile is rules
