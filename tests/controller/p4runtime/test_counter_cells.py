# SPDX-License-Identifier: Apache-2.0
"""Columns of serialised cells are the numbers that protocol buffers read."""

from collections.abc import Sequence

import numpy as np
import pytest
from finsy.proto import p4r
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st

from controller.errors import InstallError
from controller.p4runtime import counter_cells
from controller.p4runtime.counter_cells import CellDecoder, CounterCells

_ID = 302468923
_COUNT = st.one_of(st.just(0), st.integers(0, 300), st.integers(-(1 << 63), (1 << 63) - 1))
_COUNTS = st.lists(st.tuples(_COUNT, _COUNT), max_size=300)


def entity(index: int, packets: int, octets: int, counter_id: int = _ID) -> p4r.Entity:
    data = p4r.CounterData(packet_count=packets, byte_count=octets)
    entry = p4r.CounterEntry(counter_id=counter_id, index=p4r.Index(index=index), data=data)
    return p4r.Entity(counter_entry=entry)


def responses(counts: Sequence[tuple[int, int]], first: int = 0, a_response: int = 100) -> list[bytes]:
    entities = [entity(index, *count) for index, count in enumerate(counts, first)]
    starts = range(0, len(entities), a_response)
    return [p4r.ReadResponse(entities=entities[at : at + a_response]).SerializeToString() for at in starts]


def decoded(*nodes: Sequence[bytes], counter_id: int = _ID) -> list[CounterCells]:
    decoder = CellDecoder()
    for number, own in enumerate(nodes):
        decoder.add(str(number), counter_id, own)
    cells = decoder.cells()
    return [cells[str(number)] for number in range(len(nodes))]


@given(st.lists(_COUNTS, max_size=5), st.sampled_from((1, 127, 128, _ID, (1 << 32) - 1)))
def test_cells_are_decoded_in_columns(nodes: list[list[tuple[int, int]]], counter_id: int) -> None:
    sent = [
        [
            p4r.ReadResponse(entities=[entity(index, *count, counter_id)]).SerializeToString()
            for index, count in enumerate(counts)
        ]
        for counts in nodes
    ]
    for counts, cells in zip(nodes, decoded(*sent, counter_id=counter_id), strict=True):
        assert cells == dict(enumerate(counts))
        assert cells.packets.tolist() == [packets for packets, _ in counts]
        assert cells.bytes.tolist() == [octets for _, octets in counts]


@pytest.mark.parametrize("at_once", [1, 500, 1 << 20])
def test_nodes_are_decoded_together(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(counter_cells, "_BYTES_AT_ONCE", at_once)
    nodes = [[(index * 7**node, index) for index in range(size)] for node, size in enumerate((3, 0, 250, 1))]
    for counts, cells in zip(nodes, decoded(*map(responses, nodes)), strict=True):
        assert cells == dict(enumerate(counts))


def test_no_message_is_made_of_what_the_engine_sends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counter_cells, "_from_message", None)
    counts = [(index, 2 * index << index % 50) for index in range(1000)]
    assert decoded(responses(counts), responses(counts[:2]))[0] == dict(enumerate(counts))


def test_cells_may_come_in_any_order() -> None:
    backwards = [entity(index, 10 + index, index) for index in (3, 0, 2)]
    sent = p4r.ReadResponse(entities=backwards).SerializeToString()
    other = responses([(1, 2)])
    first, second = decoded([sent], other)
    assert dict(first) == {0: (10, 0), 1: (0, 0), 2: (12, 2), 3: (13, 3)}
    assert second == {0: (1, 2)}


def _field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2, len(content)]) + content


@pytest.mark.parametrize(
    "cell",
    [
        b"\x12\x02\x08\x03" + b"\x1a\x02\x10\x07" + b"\x08\x05",  # the id last
        b"\x08\x05" + b"\x1a\x02\x10\x07" + b"\x12\x02\x08\x03",  # data before the index
        b"\x08\x05" + b"\x12\x02\x08\x03" + b"\x1a\x04\x10\x07\x08\x00",  # packets before bytes
        b"\x08\x05" + b"\x12\x04\x08\x01\x08\x03" + b"\x1a\x02\x10\x07",  # an index twice
        b"\x08\x85\x00" + b"\x12\x02\x08\x03" + b"\x1a\x02\x10\x07",  # a number in more bytes than it needs
        b"\x08\x05" + b"\x12\x02\x08\x03" + b"\x1a\x02\x10\x07" + b"\x78\x01",  # a field that is not known
    ],
)
def test_other_orders_of_fields_are_read_as_messages(cell: bytes) -> None:
    sent = _field(1, _field(7, cell))
    assert p4r.ReadResponse.FromString(sent).entities[0].counter_entry.data.packet_count == 7
    cells, plain = decoded([sent], [entity_bytes(0, 4, 4)], counter_id=5)
    assert cells[3] == (7, 0)
    assert plain == {0: (4, 4)}


def entity_bytes(index: int, packets: int, octets: int) -> bytes:
    return p4r.ReadResponse(entities=[entity(index, packets, octets, 5)]).SerializeToString()


@given(st.binary(max_size=40), st.integers(0, 60), st.integers(0, 255))
def test_bytes_that_differ_anywhere_are_read_as_protocol_buffers_do(
    tail: bytes, position: int, byte: int
) -> None:
    good = bytearray(responses([(5, 1 << 40), (0, 7), (300, 0)])[0])
    good[position % len(good)] = byte
    sent = bytes(good) + tail
    try:
        entities = p4r.ReadResponse.FromString(sent).entities
    except DecodeError:
        with pytest.raises(
            InstallError, match="0: the response is not a ReadResponse: Error parsing message with type"
        ):
            decoded([sent])
        return
    cells = [entity.counter_entry for entity in entities]
    if any(not 0 <= cell.index.index < 1 << 20 for cell in cells):
        with pytest.raises(InstallError, match="0: expected indices of a counter from 0 to 1048575, got "):
            decoded([sent])
        return
    wanted = {cell.index.index: (cell.data.packet_count, cell.data.byte_count) for cell in cells}
    (read,) = decoded([sent])
    assert {index: read[index] for index in wanted} == wanted


def test_columns_are_a_mapping() -> None:
    cells = CounterCells(np.array([1, 0]), np.array([60, 0]))
    assert cells[0] == (1, 60)
    assert 2 not in cells
    assert cells.get(2, (0, 0)) == (0, 0)
    assert -1 not in cells
    assert list(cells.items()) == [(0, (1, 60)), (1, (0, 0))]
    assert repr(cells) == "<2 cells, 1 packets, 60 bytes>"
