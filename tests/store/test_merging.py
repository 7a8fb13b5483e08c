"""Steps of several processes come in one order, however the files were read."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentdbg.store.columns import WriterRows, pack
from agentdbg.store.merging import DisplayOrder

arrivals = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 40), st.booleans()), max_size=60)


def listed(order: DisplayOrder) -> list[int]:
    return [order.at(i) for i in range(len(order))]


@given(arrivals)
def test_growing_gives_the_order_of_reading_all_at_once(arrived: list[tuple[int, int, bool]]) -> None:
    grown, whole = ([WriterRows(str(i), i) for i in range(3)] for _ in range(2))
    order = DisplayOrder(grown)
    for writer, key, look in arrived:
        for writers in (grown, whole):
            writers[writer].append(0, len(writers[writer]), key)
        if look:
            order.update()
    order.update()
    at_once = DisplayOrder(whole)
    at_once.update()
    assert listed(order) == listed(at_once)
    assert [order.position(packed) for packed in listed(order)] == list(range(len(arrived)))
    for writer in range(3):
        rows = [packed for packed in listed(order) if packed >> 40 == writer]
        assert rows == sorted(rows), "within a writer its own order stays"


@given(
    arrivals,
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9), st.integers(0, 2), st.integers(0, 9)), max_size=6),
)
def test_links_are_kept_and_circles_end(
    arrived: list[tuple[int, int, bool]], links: list[tuple[int, int, int, int]]
) -> None:
    writers = [WriterRows(str(i), i) for i in range(3)]
    order = DisplayOrder(writers)
    for writer, key, _ in arrived:
        writers[writer].append(0, len(writers[writer]), key)
    upward = [
        link
        for link in links
        if link[0] > link[2] and link[1] < len(writers[link[0]]) and link[3] < len(writers[link[2]])
    ]
    for writer, row, above, above_row in upward:
        order.must_follow(writer, row, pack(above, above_row))
    order.update()
    for writer, row, above, above_row in upward:
        assert order.position(pack(above, above_row)) < order.position(pack(writer, row))
    for writer, row, above, above_row in upward:
        order.must_follow(above, above_row, pack(writer, row))
    order.update()
    assert sorted(listed(order)) == sorted(pack(rows.index, row) for rows in writers for row in range(len(rows)))


def test_a_change_of_places_is_told() -> None:
    writers = [WriterRows(str(i), i) for i in range(2)]
    order = DisplayOrder(writers)
    writers[0].append(0, 0, 10)
    order.update()
    writers[1].append(0, 0, 20)
    order.update()
    changes = order.changes
    writers[0].append(1, 1, 30)
    order.update()
    assert order.changes == changes, "what comes last moves nothing"
    writers[1].append(1, 1, 25)
    order.update()
    assert order.changes == changes + 1
    assert listed(order) == [pack(0, 0), pack(1, 0), pack(1, 1), pack(0, 1)]
