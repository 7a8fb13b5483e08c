"""Raw: the record as it stands."""

from __future__ import annotations

from agentdbg.debugging.session import Session
from agentdbg.debugging.tabs.raw import raw_tab
from tests.support.memory_source import MemorySource, plain_steps, run_of
from tests.support.reading import text_of
from tests.support.refund_run import refund_run


def test_a_step_with_its_bodies() -> None:
    text = text_of(raw_tab(Session(refund_run())))
    for words in ('"name": "notify_customer"', '"sha256"', "Arguments", "mail relay refused"):
        assert words in text


def test_segments_come_last_and_closed() -> None:
    session = Session(refund_run())
    session.goto_number(3)
    document = raw_tab(session)
    assert [section.open for section in document.sections][-8:] == [False] * 8
    assert "Segment 1 parameters" in text_of(document)


class _Recorded(MemorySource):
    """A source that keeps the records of its steps."""

    def events(self, step):
        return [b'{"e":"intent","seq":1}', b'{"e":"outcome"}']

    def chunks(self, step):
        return []


def test_records_are_shown_where_the_source_keeps_them() -> None:
    source = _Recorded(run_of([]).run)
    source.add(plain_steps(1)[0])
    text = text_of(raw_tab(Session(source)))
    assert text == 'Record 1\n{"e": "intent", "seq": 1}\nRecord 2\n{"e": "outcome"}'
