# SPDX-License-Identifier: Apache-2.0
"""Encode the rows of a table as bytes of P4Runtime messages, all rows at once.

The update of a row consists of numbers, and of constant bytes between them. Each number takes as few bytes
as possible. The sizes of the numbers determine the lengths in the message and with them all constant bytes,
so rows whose numbers have equal sizes share a template.

A matrix of bytes has a row for each update. First, the template of each row is copied into the matrix. Then
the numbers are written as columns. The matrix has room for the longest numbers and lengths; a mask leaves out
the bytes that a row does not use.

The result equals that of `TableEncoder.encode_update`, which also raises every error.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from finsy.proto import p4r
from numpy.typing import NDArray

from controller.p4runtime.entry_encoding import LARGEST_PRIORITY, UPDATE_TYPES, Action, TableEncoder
from controller.p4runtime.field_encoding import Field, tag, varint
from controller.plan.entry import Exact, Lpm, Optional, Range, Ternary
from controller.plan.rows import Column, MatchColumn, Rows, joined_rows
from controller.plan.updates import Kind

__all__ = ["NO_UPDATES", "SerialisedUpdates", "encode_rows", "joined_updates"]

# Largest number of rows of a matrix: about a megabyte, which stays in the cache of a core.
_CHUNK = 1 << 13

# Combinations of sizes are counted in a table. If more are possible than this, they are sorted first.
_MOST_COMBINATIONS = 1 << 14


@final
@dataclass(frozen=True, slots=True)
class SerialisedUpdates:
    """Serialised field `updates` of a WriteRequest, and the end of each update in it, (updates,)."""

    data: bytes
    ends: NDArray[np.int64]


def joined_updates(updates: Sequence[bytes]) -> SerialisedUpdates:
    """Join serialised updates."""
    ends = np.cumsum([len(update) for update in updates], dtype=np.int64)
    return SerialisedUpdates(b"".join(updates), ends)


NO_UPDATES = SerialisedUpdates(b"", np.zeros(0, np.int64))


def encode_rows(
    table: TableEncoder, blocks: Sequence[Rows], kind: Kind = "insert"
) -> list[SerialisedUpdates]:
    """Return the updates of one kind for the rows of each block; all blocks have the same layout.

    At least one block must have a row.

    Raises:
        InstallError: The error of `TableEncoder.encode_update` for the first row that no message can carry.
    """
    lengths = [len(block) for block in blocks]
    rows = joined_rows(blocks)
    message = _message(table, rows, kind)
    encoded = _one_by_one(table, rows, kind) if message is None else _at_once(message, len(rows))
    return list(_cut(encoded, lengths))


def _cut(encoded: SerialisedUpdates, lengths: Sequence[int]) -> Iterator[SerialisedUpdates]:
    """Split the updates by block: block i has `lengths[i]` updates, one a row."""
    first = begin = 0
    for length in lengths:
        ends = encoded.ends[first : first + length]
        end = int(ends[-1]) if length else begin
        yield SerialisedUpdates(encoded.data[begin:end], ends - begin)
        first, begin = first + length, end


def _one_by_one(table: TableEncoder, rows: Rows, kind: Kind) -> SerialisedUpdates:
    """Return the updates of rows, encoded one by one: `TableEncoder` takes, or refuses, any values."""
    return joined_updates([table.encode_update(kind, entry) for entry in rows])


# -- the message of a row


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Number:
    """Numbers in a message: row i has the last `sizes[i]` bytes of `values[i]`, the most significant first.

    A single element of `values` and `sizes` holds for all rows. No size is above `most`. `head` is the tag in
    front of a number, absent if the size is 0.
    """

    values: NDArray[Any]
    sizes: NDArray[np.uint8]
    most: int
    head: bytes = b""


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Sized:
    """A string or message: its tag, its length, and its content `parts`."""

    tag: bytes
    parts: "tuple[_Part, ...]"


_Part = bytes | _Number | _Sized

_UPDATES, _TYPE = tag(p4r.WriteRequest, "updates"), tag(p4r.Update, "type")
_ENTITY, _TABLE_ENTRY = tag(p4r.Update, "entity"), tag(p4r.Entity, "table_entry")
_TABLE_ID, _MATCH = tag(p4r.TableEntry, "table_id"), tag(p4r.TableEntry, "match")
_ACTION, _PRIORITY = tag(p4r.TableEntry, "action"), tag(p4r.TableEntry, "priority")
_FIELD_ID = tag(p4r.FieldMatch, "field_id")
_DIRECT, _ACTION_ID = tag(p4r.TableAction, "action"), tag(p4r.Action, "action_id")
_PARAMS, _PREFIX_LENGTH = tag(p4r.Action, "params"), tag(p4r.FieldMatch.LPM, "prefix_len")
_PARAM_ID, _PARAM_VALUE = (tag(p4r.Action.Param, name) for name in ("param_id", "value"))
_HEADS = {kind: _TYPE + varint(number) for kind, number in UPDATE_TYPES.items()}

# For each kind of match: its field in FieldMatch, its message and the names of its values. _KIND_TAGS has the
# tags of the field and the values.
_KINDS = {
    Exact: ("exact", p4r.FieldMatch.Exact, ("value",)),
    Optional: ("optional", p4r.FieldMatch.Optional, ("value",)),
    Lpm: ("lpm", p4r.FieldMatch.LPM, ("value",)),
    Ternary: ("ternary", p4r.FieldMatch.Ternary, ("value", "mask")),
    Range: ("range", p4r.FieldMatch.Range, ("low", "high")),
}
_KIND_TAGS = {
    kind: (tag(p4r.FieldMatch, name), tuple(tag(message, value) for value in values))
    for kind, (name, message, values) in _KINDS.items()
}


def _message(table: TableEncoder, rows: Rows, kind: Kind) -> _Sized | None:
    """Return the layout of a row's update; None if `TableEncoder` must encode or refuse the rows."""
    action = table.actions.get(rows.action)
    priority = _priority(rows.priority)
    match = [_field(table.keys_by_name.get(field.name), field) for field in rows.match]
    if action is None or priority is None:
        return None
    params = _params(action, rows)
    parts = [*match, *params]
    known = tuple(part for part in parts if part is not None)
    if len(known) < len(parts) or len(action.params) != len(rows.params):
        return None
    call = _Sized(_DIRECT, (_ACTION_ID + varint(action.id), *known[len(match) :]))
    calls = () if kind == "delete" else (_Sized(_ACTION, (call,)),)
    entry = (_TABLE_ID + varint(table.id), *known[: len(match)], *calls, priority)
    return _Sized(_UPDATES, (_HEADS[kind], _Sized(_ENTITY, (_Sized(_TABLE_ENTRY, entry),))))


def _params(action: Action, rows: Rows) -> Iterator[_Sized | None]:
    for param, (name, column) in zip(action.params, rows.params, strict=False):
        value = _bytestring(_PARAM_VALUE, column, param.bits) if name == param.name else None
        yield None if value is None else _Sized(_PARAMS, (_PARAM_ID + varint(param.id), value))


def _field(key: Field | None, field: MatchColumn) -> _Sized | None:
    if key is None or key.kind is not field.kind:
        return None
    kind_tag, value_tags = _KIND_TAGS[field.kind]
    parts: list[_Part | None] = [
        _bytestring(value_tag, column, key.bits)
        for value_tag, column in zip(value_tags, field.columns, strict=False)
    ]
    if field.kind is Lpm and field.extra is not None:
        parts.append(_prefix(field.extra, key.wider))
    known = tuple(part for part in parts if part is not None)
    if len(known) < len(parts):
        return None
    return _Sized(_MATCH, (_FIELD_ID + varint(key.id), _Sized(kind_tag, known)))


def _bytestring(before: bytes, column: Column, bits: int) -> _Sized | None:
    """Return a field of canonical bytestrings; None if a number is negative or exceeds `bits` bits."""
    values = _array(column)
    if values is None:
        return None
    lowest, highest = int(values.min()), int(values.max())
    if lowest < 0 or highest >> bits:
        return None
    most = (highest.bit_length() + 7) // 8 or 1
    sizes = np.ones(len(values), np.uint8)
    for size in range(1, most):
        sizes += values >= 1 << 8 * size
    return _Sized(before, (_Number(values, sizes, most),))


def _prefix(column: Column, wider: int) -> _Number | None:
    """Return the prefix lengths of a match field: the lengths in the plan plus `wider`.

    A length of 0 is left out. None if a length is negative or needs more than one byte.
    """
    values = _array(column)
    if values is None or not 0 <= int(values.min()) + wider <= int(values.max()) + wider < 0x80:
        return None
    values = values.astype(np.int64) + wider
    return _Number(values, (values > 0).astype(np.uint8), 1, _PREFIX_LENGTH)


def _priority(column: Column) -> _Number | None:
    """Return priorities as varints; 0 is left out. None if a priority is out of range."""
    values = _array(column)
    if values is None or not 0 <= int(values.min()) <= int(values.max()) <= LARGEST_PRIORITY:
        return None
    values = values.astype(np.int64)
    most = len(varint(int(values.max())))
    numbers = np.zeros(len(values), np.int64)
    sizes = np.zeros(len(values), np.uint8)
    for size in range(1, most + 1):
        more = values >= 1 << 7 * (size - 1) if size > 1 else values > 0
        if size > 1:
            numbers += more * 0x80  # continuation bit of the previous byte
        numbers = np.where(more, numbers << 8 | values >> 7 * (size - 1) & 0x7F, numbers)
        sizes += more
    return _Number(numbers, sizes, most, _PRIORITY)


def _array(column: Column) -> NDArray[Any] | None:
    """Return a column as an array, with one element for a constant; None for a constant beyond 64 bits."""
    if not isinstance(column, int):
        return column
    if not -(1 << 63) <= column < 1 << 63:
        return None
    return np.array([column])


# -- the bytes of rows


def _at_once(message: _Sized, count: int) -> SerialisedUpdates:
    numbers = list(_numbers_of(message))
    data: list[bytes] = []
    lengths: list[NDArray[np.int64]] = []
    for start in range(0, count, _CHUNK):
        rows = min(_CHUNK, count - start)
        part = [_part_of(number, start, rows) for number in numbers]
        chosen, kinds = _combinations([number.sizes for number in part], rows)
        templates = _Templates(message, kinds, [number.most for number in part])
        matrix = np.take(templates.bytes, chosen, axis=0)
        for number, position in zip(part, templates.positions, strict=True):
            _write(matrix, position, number)
        if len(kinds) == 1:
            data.append(matrix[:, templates.used[0]].tobytes())
        else:
            data.append(matrix[np.take(templates.used, chosen, axis=0)].tobytes())
        lengths.append(templates.lengths[chosen])
    return SerialisedUpdates(b"".join(data), np.cumsum(np.concatenate(lengths)))


def _numbers_of(part: _Part) -> Iterator[_Number]:
    """Yield the numbers of a message in their order."""
    if isinstance(part, _Number):
        yield part
    elif isinstance(part, _Sized):
        for inner in part.parts:
            yield from _numbers_of(inner)


def _part_of(number: _Number, start: int, rows: int) -> _Number:
    if len(number.values) == 1:
        return number
    part = slice(start, start + rows)
    return _Number(number.values[part], number.sizes[part], number.most, number.head)


def _combinations(
    sizes: Sequence[NDArray[np.uint8]], rows: int
) -> tuple[NDArray[np.intp], NDArray[np.uint8]]:
    """Return each row's combination of sizes, by index, (rows,), and the combinations, (kinds, numbers)."""
    varied = [number for number, own in enumerate(sizes) if len(own) == rows and own.min() < own.max()]
    codes = np.zeros(rows, np.int64)
    combinations = 1
    for number in varied:
        lowest, highest = int(sizes[number].min()), int(sizes[number].max())
        codes *= highest - lowest + 1
        codes += sizes[number] - np.uint8(lowest)
        combinations *= highest - lowest + 1
        if combinations > _MOST_COMBINATIONS:
            values, codes = np.unique(codes, return_inverse=True)
            combinations = len(values)
    present = np.bincount(codes, minlength=combinations) > 0
    chosen = (np.cumsum(present) - 1)[codes]
    examples = np.zeros(int(present.sum()), np.intp)
    examples[chosen] = np.arange(rows)
    columns = [own[examples] if len(own) == rows else np.repeat(own, len(examples)) for own in sizes]
    return chosen, np.stack(columns, axis=1)


@final
class _Templates:
    """The bytes of a message without its numbers, for each kind: a combination of the numbers' sizes.

    Attributes:
        bytes: Byte at each position, (kinds, width).
        used: Mask of the positions that each kind uses, (kinds, width).
        lengths: Number of used positions of each kind, (kinds,).
        positions: Position after the last byte of each number.
    """

    def __init__(self, message: _Sized, kinds: NDArray[np.uint8], most: Sequence[int]) -> None:
        pieces = [_pieces(message, sizes) for sizes in kinds.tolist()]  # by kind; one piece more than numbers
        widths = [max(map(len, same)) for same in zip(*pieces, strict=True)]
        total = sum(widths) + sum(most)
        self.bytes = np.zeros((len(kinds), total), np.uint8)
        self.used = np.zeros((len(kinds), total), np.bool_)
        self.positions: list[int] = []
        end = 0
        for number, width in enumerate(widths):
            end += width
            for kind, own in enumerate(pieces):
                piece = own[number]
                self.bytes[kind, end - len(piece) : end] = np.frombuffer(piece, np.uint8)
                self.used[kind, end - len(piece) : end] = True
            if number < len(most):
                end += most[number]
                self.positions.append(end)
                for kind, size in enumerate(kinds[:, number].tolist()):
                    self.used[kind, end - size : end] = True
        self.lengths = self.used.sum(axis=1, dtype=np.int64)


def _pieces(message: _Sized, sizes: Sequence[int]) -> list[bytes]:
    """Return the constant bytes before, between and after the numbers of a message."""
    left = iter(sizes)

    def inside(part: _Part) -> tuple[list[bytes], int]:
        """Return the pieces of a part, and its length."""
        if isinstance(part, bytes):
            return [part], len(part)
        if isinstance(part, _Number):
            size = next(left)
            head = part.head if size else b""
            return [head, b""], len(head) + size
        pieces, length = [b""], 0
        for inner in part.parts:
            (first, *more), size = inside(inner)
            pieces[-1] += first
            pieces += more
            length += size
        pieces[0] = part.tag + varint(length) + pieces[0]
        return pieces, length + len(part.tag) + len(varint(length))

    return inside(message)[0]


def _write(matrix: NDArray[np.uint8], end: int, number: _Number) -> None:
    """Write numbers, big-endian, into the columns of a matrix; the last column is `end` - 1."""
    rows, width = matrix.shape
    written = 0
    while written < number.most:
        size = next(size for size in (8, 4, 2, 1) if written + size <= number.most)
        # An unaligned view of the matrix: NumPy writes each number into its row.
        column = np.ndarray((rows,), f">u{size}", matrix, end - written - size, (width,))
        values = number.values
        column[...] = values if written == 0 else values >> values.dtype.type(8 * written)
        written += size
