# SPDX-License-Identifier: Apache-2.0
"""Cells of indexed counters as arrays, decoded from serialised ReadResponses without an object per cell."""

from collections.abc import Iterator, Mapping, Sequence
from typing import final

import numpy as np
from finsy.proto import p4r
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from controller.errors import InstallError
from controller.p4runtime.field_encoding import tag, varint

__all__ = ["CellDecoder", "CounterCells"]

# Responses are decoded when they have more bytes than this: their arrays still fit in the cache of a core.
_BYTES_AT_ONCE = 1 << 20

# Zeros behind the responses, so that reading a number past their end is no error.
_PADDING = bytes(16)

# Largest number of cells of a counter, if the cells are not in the order of their indices: 16 MiB of arrays.
_MOST_CELLS = 1 << 20
_REMEDY = "compare the server with the P4Runtime specification: it sent no cells of a counter"

_ENTITY, _COUNTER_ENTRY = tag(p4r.ReadResponse, "entities"), tag(p4r.Entity, "counter_entry")
_COUNTER_ID = tag(p4r.CounterEntry, "counter_id")
_INDEX, _DATA = tag(p4r.CounterEntry, "index"), tag(p4r.CounterEntry, "data")
_INDEX_OF_INDEX = tag(p4r.Index, "index")
_BYTE_COUNT, _PACKET_COUNT = tag(p4r.CounterData, "byte_count"), tag(p4r.CounterData, "packet_count")

_Column = NDArray[np.int64]


@final
class CounterCells(Mapping[int, tuple[int, int]]):
    """Cells of an indexed counter: `packets` and `bytes` by index, each of shape (cells,).

    As a mapping, it maps an index to (packets, bytes).
    """

    __slots__ = ("bytes", "packets")

    def __init__(self, packets: _Column, octets: _Column) -> None:
        self.packets = packets
        self.bytes = octets

    def __getitem__(self, index: int) -> tuple[int, int]:
        if not 0 <= index < len(self.packets):
            raise KeyError(index)
        return int(self.packets[index]), int(self.bytes[index])

    def __len__(self) -> int:
        return len(self.packets)

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.packets)))

    def __repr__(self) -> str:
        return f"<{len(self)} cells, {int(self.packets.sum())} packets, {int(self.bytes.sum())} bytes>"


@final
class CellDecoder:
    """Decoder of the responses of several nodes to reads of all cells of a counter.

    Responses of several nodes are decoded together. If a server sends fields in another order than protocol
    buffers do, or anything else than cells of the counter, the responses are parsed as messages.
    """

    def __init__(self) -> None:
        self._cells: dict[str, CounterCells] = {}
        self._waiting: dict[int, dict[str, bytes]] = {}  # by counter and node
        self._waiting_bytes = 0

    def add(self, node: str, counter_id: int, responses: Sequence[bytes]) -> None:
        """Add all responses of a node, to be decoded now or later."""
        data = b"".join(responses)  # joined messages parse as one message with all entities
        self._waiting.setdefault(counter_id, {})[node] = data
        self._waiting_bytes += len(data)
        if self._waiting_bytes > _BYTES_AT_ONCE:
            self._decode()

    def cells(self) -> Mapping[str, CounterCells]:
        """Return the cells of the counter by node."""
        self._decode()
        return self._cells

    def _decode(self) -> None:
        for counter_id, by_node in self._waiting.items():
            self._cells |= _decode_all(by_node, counter_id)
        self._waiting, self._waiting_bytes = {}, 0


def _decode_all(responses: Mapping[str, bytes], counter_id: int) -> dict[str, CounterCells]:
    """Return the cells of each node from its responses, all of one counter."""
    bounds = np.cumsum([0, *map(len, responses.values())])
    columns = _columns(b"".join((*responses.values(), _PADDING)), counter_id)
    if columns is None:
        return {node: _from_message(node, response) for node, response in responses.items()}
    starts, index, packets, octets = columns
    firsts = np.searchsorted(starts, bounds)
    if not np.array_equal(starts[firsts], bounds):
        return {node: _from_message(node, response) for node, response in responses.items()}
    if np.array_equal(index, np.arange(len(index)) - np.repeat(firsts[:-1], np.diff(firsts))):
        cuts = firsts[1:-1]
        cells = map(CounterCells, np.split(packets, cuts), np.split(octets, cuts))
        return dict(zip(responses, cells, strict=True))
    parts = map(slice, firsts[:-1], firsts[1:])
    return {
        node: _by_index(node, index[part], packets[part], octets[part])
        for node, part in zip(responses, parts, strict=True)
    }


def _by_index(node: str, index: _Column, packets: _Column, octets: _Column) -> CounterCells:
    """Return cells sorted by index; an index without a cell has counts of 0."""
    wrong = index[(index < 0) | (index >= _MOST_CELLS)]
    if len(wrong):
        expected = f"expected indices of a counter from 0 to {_MOST_CELLS - 1}"
        raise InstallError(f"{node}: {expected}, got {wrong[0]}", remedy=_REMEDY)
    cells = np.zeros((2, int(index.max(initial=-1)) + 1), np.int64)
    cells[:, index] = packets, octets
    return CounterCells(*cells)


def _from_message(node: str, response: bytes) -> CounterCells:
    try:
        entities = p4r.ReadResponse.FromString(response).entities
    except DecodeError as error:
        raise InstallError(f"{node}: the response is not a ReadResponse: {error}", remedy=_REMEDY) from error
    entries = [entity.counter_entry for entity in entities]
    index, packets, octets = (
        np.array(list(column), np.int64)
        for column in (
            (entry.index.index for entry in entries),
            (entry.data.packet_count for entry in entries),
            (entry.data.byte_count for entry in entries),
        )
    )
    return _by_index(node, index, packets, octets)


def _columns(data: bytes, counter_id: int) -> tuple[_Column, _Column, _Column, _Column] | None:
    """Return the start, index, packets and bytes of every cell; None if the data must be parsed as messages.

    The starts have one more element: the end of the last cell. `data` ends with the padding. The result is
    None unless `data` has only cells of this counter, with fields in the order of their numbers, in which
    protocol buffers write them.
    """
    raw = np.frombuffer(data, np.uint8)
    end = len(raw) - len(_PADDING)
    # A cell starts with these bytes; -1 is a length byte of any value.
    head = [*_ENTITY, -1, *_COUNTER_ENTRY, -1, *_COUNTER_ID, *varint(counter_id), *_INDEX]
    is_head = np.ones(end, np.bool_)
    for offset, byte in enumerate(head):
        if byte >= 0:
            is_head &= raw[offset : offset + end] == byte
    starts = np.append(np.flatnonzero(is_head), end)
    cells, cell_ends = starts[:-1], starts[1:]
    # If every cell ends where the next cell starts, no head was found inside a cell, and none is missing.
    sizes = raw[cells + 1].astype(np.int64)
    if not (
        starts[0] == 0
        and np.array_equal(cells + 2 + sizes, cell_ends)
        and np.array_equal(raw[cells + 3] + 2, sizes)
        and sizes.max(initial=0) < 0x80
    ):
        return None
    index_at = cells + len(head) + 1
    index_ends = index_at + raw[index_at - 1].astype(np.int64)
    data_at = index_ends + 2
    if not (data_at <= cell_ends).all():
        return None
    index, at = _number(raw, index_at, index_ends, _INDEX_OF_INDEX)
    if not (
        np.array_equal(at, index_ends)
        and (raw[index_ends] == _DATA[0]).all()
        and np.array_equal(data_at + raw[index_ends + 1], cell_ends)
        and index.min(initial=0) >= 0
    ):
        return None
    octets, at = _number(raw, data_at, cell_ends, _BYTE_COUNT)
    packets, at = _number(raw, at, cell_ends, _PACKET_COUNT)
    return (starts, index, packets, octets) if np.array_equal(at, cell_ends) else None


def _number(raw: NDArray[np.uint8], at: _Column, ends: _Column, field: bytes) -> tuple[_Column, _Column]:
    """Return a varint field of each message, and the position after the field.

    An absent field is 0, and its position does not change. For a number of more than ten bytes, the position
    is -1.

    Args:
        raw: Bytes of all messages.
        at: Position of the field in each message, if the message has the field.
        ends: End of each message.
        field: Tag of the field.
    """
    values = np.zeros(len(at), np.uint64)
    behind = at.copy()
    chosen = np.flatnonzero((at < ends) & (raw[np.minimum(at, len(raw) - 1)] == field[0]))
    offset = at[chosen] + 1
    for shift in range(0, 70, 7):
        if not len(chosen):
            break
        byte = raw[offset]
        values[chosen] |= (byte & 0x7F).astype(np.uint64) << np.uint64(shift)
        offset = offset + 1
        behind[chosen] = offset
        more = byte > 0x7F
        chosen, offset = chosen[more], offset[more]
    behind[chosen] = -1
    return values.view(np.int64), behind
