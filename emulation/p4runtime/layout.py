# SPDX-License-Identifier: Apache-2.0
"""Tables and actions resolved once, so that an update is decoded without a search by name.

The engine takes a key as one (value, extra, prefix) a field, in the program's order: extra is the mask of a
ternary field or the high end of a range, prefix the length of an LPM field; an optional field has prefix 1
when it is asked for.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import final

from finsy.proto import p4r, rpc_code

from emulation.p4runtime.status import Refusal

__all__ = ["ActionLayout", "Key", "KeyLayout", "Parameter", "TableLayout", "canonical", "unsigned"]

Key = tuple[bytes, bytes, int]

_INVALID = rpc_code.INVALID_ARGUMENT
_ZERO = b"\x00"


def canonical(value: bytes) -> bytes:
    """The shortest bytestring of the same unsigned number."""
    return value.lstrip(_ZERO) or _ZERO


def fitting(value: bytes, bits: int) -> bytes | None:
    """The bytestring without zero bytes too many; None if it is empty or its number needs more bits."""
    size = len(value)
    if size and size * 8 <= bits:
        return value
    if not size or int.from_bytes(value) >> bits:
        return None
    return value[-((bits + 7) // 8) :]


def unsigned(value: bytes, bits: int, what: str) -> bytes:
    """The bytestring of an unsigned number of at most `bits` bits; OUT_OF_RANGE, naming `what`, if not.

    P4Runtime specification, "Bytestrings".
    """
    fits = fitting(value, bits)
    if fits is None:
        reason = f"0x{value.hex()} does not fit in {bits} bits" if value else "an empty bytestring"
        raise Refusal(rpc_code.OUT_OF_RANGE, f"{what}: {reason}")
    return fits


@final
@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an action."""

    id: int
    name: str
    bits: int


@final
@dataclass(frozen=True, slots=True)
class ActionLayout:
    """An action as one table uses it."""

    id: int
    name: str
    handle: int
    parameters: tuple[Parameter, ...]
    for_entries: bool
    for_default: bool

    def decode(self, action: p4r.Action) -> list[bytes]:
        """Parameter values in the program's order."""
        given = action.params
        parameters = self.parameters
        if len(given) == len(parameters):
            values = []
            for sent, parameter in zip(given, parameters, strict=True):
                if sent.param_id != parameter.id:
                    break
                value = fitting(sent.value, parameter.bits)
                values.append(self._value(sent.value, parameter) if value is None else value)
            else:
                return values
        return self._decode_any_order(given)

    def _decode_any_order(self, given: Iterable[p4r.Action.Param]) -> list[bytes]:
        sent: dict[int, bytes] = {}
        for parameter in given:
            if parameter.param_id in sent:
                raise Refusal(_INVALID, f"action {self.name!r}: parameter {parameter.param_id} twice")
            sent[parameter.param_id] = parameter.value
        values = []
        for parameter in self.parameters:
            if parameter.id not in sent:
                raise Refusal(_INVALID, f"action {self.name!r}: no value for parameter {parameter.name!r}")
            values.append(self._value(sent.pop(parameter.id), parameter))
        if sent:
            raise Refusal(_INVALID, f"action {self.name!r}: no parameter with id {next(iter(sent))}")
        return values

    def _value(self, value: bytes, parameter: Parameter) -> bytes:
        return unsigned(value, parameter.bits, f"action {self.name!r}, parameter {parameter.name!r}")

    def encode(self, action: p4r.Action, values: Sequence[bytes]) -> None:
        """Fill in the message, in canonical form."""
        action.action_id = self.id
        for parameter, value in zip(self.parameters, values, strict=True):
            action.params.add(param_id=parameter.id, value=canonical(value))


@final
@dataclass(frozen=True, slots=True)
class KeyLayout:
    """One field of a table's key. `position` is its place in the program's key.

    `masked`: an optional field that the program holds as a ternary one, which is how p4c writes it.
    """

    id: int
    name: str
    match: str
    bits: int
    position: int
    table: str
    masked: bool = False

    @property
    def what(self) -> str:
        """How messages name it."""
        return f"table {self.table!r}, field {self.name!r}"

    @property
    def wildcard(self) -> Key | None:
        """The key that matches everything; None for an exact field, which has none."""
        if self.match == "exact":
            return None
        if self.match == "range":
            return (_ZERO, self.ones, 0)
        if self.match == "ternary" or self.masked:
            return (_ZERO, _ZERO, 0)
        return (_ZERO, b"", 0)

    @property
    def ones(self) -> bytes:
        """The largest number of the field."""
        return ((1 << self.bits) - 1).to_bytes((self.bits + 7) // 8)

    def decode(self, sent: p4r.FieldMatch) -> Key:
        """The engine's form of one field of a match."""
        kind = sent.WhichOneof("field_match_type")
        if kind is None or kind != self.match:
            raise Refusal(_INVALID, f"{self.what} is {self.match}, not {kind or 'unset'}")
        return _DECODERS[kind](self, sent)

    def encode(self, entry: p4r.TableEntry, key: Key) -> None:
        """Add the field to an entry's match; a wildcard is left out."""
        value, extra, prefix = key
        match self.match:
            case "exact":
                entry.match.add(field_id=self.id).exact.value = canonical(value)
            case "lpm" if prefix:
                lpm = entry.match.add(field_id=self.id).lpm
                lpm.value, lpm.prefix_len = canonical(value), prefix
            case "ternary" if any(extra):
                ternary = entry.match.add(field_id=self.id).ternary
                ternary.value, ternary.mask = canonical(value), canonical(extra)
            case "range" if any(value) or int.from_bytes(extra) + 1 < 1 << self.bits:
                bounds = entry.match.add(field_id=self.id).range
                bounds.low, bounds.high = canonical(value), canonical(extra)
            case "optional" if prefix or (self.masked and any(extra)):
                entry.match.add(field_id=self.id).optional.value = canonical(value)
            case _:
                pass

    def number(self, value: bytes, part: str = "value") -> bytes:
        """A bytestring that fits the field."""
        fits = fitting(value, self.bits)
        return unsigned(value, self.bits, f"{self.what}, {part}") if fits is None else fits


def _exact(key: KeyLayout, sent: p4r.FieldMatch) -> Key:
    return (key.number(sent.exact.value), b"", 0)


def _lpm(key: KeyLayout, sent: p4r.FieldMatch) -> Key:
    value, prefix = key.number(sent.lpm.value), sent.lpm.prefix_len
    if prefix == 0:
        raise Refusal(_INVALID, f"{key.what}: prefix length 0; leave the field out to match everything")
    if not 0 < prefix <= key.bits:
        raise Refusal(_INVALID, f"{key.what}: prefix length {prefix} is not within 1..{key.bits}")
    if int.from_bytes(value) & ((1 << (key.bits - prefix)) - 1):
        raise Refusal(_INVALID, f"{key.what}: 0x{value.hex()} has bits beyond its prefix of {prefix}")
    return (value, b"", prefix)


def _ternary(key: KeyLayout, sent: p4r.FieldMatch) -> Key:
    value, mask = key.number(sent.ternary.value), key.number(sent.ternary.mask, "mask")
    if not any(mask):
        raise Refusal(_INVALID, f"{key.what}: mask 0; leave the field out to match everything")
    if int.from_bytes(value) & ~int.from_bytes(mask):
        raise Refusal(_INVALID, f"{key.what}: 0x{value.hex()} has bits outside its mask 0x{mask.hex()}")
    return (value, mask, 0)


def _range(key: KeyLayout, sent: p4r.FieldMatch) -> Key:
    low, high = key.number(sent.range.low, "low"), key.number(sent.range.high, "high")
    bottom, top = int.from_bytes(low), int.from_bytes(high)
    if bottom > top:
        raise Refusal(_INVALID, f"{key.what}: low {bottom} is above high {top}")
    if bottom == 0 and top == (1 << key.bits) - 1:
        raise Refusal(_INVALID, f"{key.what}: the whole range; leave the field out to match everything")
    return (low, high, 0)


def _optional(key: KeyLayout, sent: p4r.FieldMatch) -> Key:
    value = key.number(sent.optional.value)
    return (value, key.ones, 0) if key.masked else (value, b"", 1)


_DECODERS: dict[str, Callable[[KeyLayout, p4r.FieldMatch], Key]] = {
    "exact": _exact,
    "lpm": _lpm,
    "ternary": _ternary,
    "range": _range,
    "optional": _optional,
}


@final
@dataclass(frozen=True, slots=True)
class TableLayout:
    """A table of the pipeline: what P4Runtime may say about it and what the engine calls it."""

    id: int
    name: str
    handle: int
    keys: tuple[KeyLayout, ...]
    actions: Mapping[int, ActionLayout]
    const: bool
    const_default: bool
    indirect: bool
    direct_counter: int
    idle_timeout: bool
    keys_by_id: Mapping[int, KeyLayout] = field(init=False)
    actions_by_handle: Mapping[int, ActionLayout] = field(init=False)
    wildcards: tuple[Key | None, ...] = field(init=False)
    ordered: bool = field(init=False)

    def __post_init__(self) -> None:
        derive = object.__setattr__
        derive(self, "keys_by_id", {key.id: key for key in self.keys})
        derive(self, "actions_by_handle", {action.handle: action for action in self.actions.values()})
        derive(self, "wildcards", tuple(key.wildcard for key in self.keys))
        derive(self, "ordered", any(key.match in ("ternary", "range", "optional") for key in self.keys))

    def decode_match(self, entry: p4r.TableEntry) -> list[Key]:
        """The engine's key; absent fields become wildcards."""
        by_id = self.keys_by_id
        found: list[Key | None] = [None] * len(self.keys)
        for sent in entry.match:
            key = by_id.get(sent.field_id)
            if key is None:
                raise Refusal(_INVALID, f"table {self.name!r} has no match field with id {sent.field_id}")
            if found[key.position] is not None:
                raise Refusal(_INVALID, f"{key.what} is given twice")
            # The common case without a call more than it needs; whatever is wrong with it, decode() says so.
            value = fitting(sent.exact.value, key.bits) if key.match == "exact" else None
            found[key.position] = key.decode(sent) if value is None else (value, b"", 0)
        if None in found:
            found = [
                wildcard if value is None else value
                for value, wildcard in zip(found, self.wildcards, strict=True)
            ]
            if None in found:
                missing = self.keys[found.index(None)]
                raise Refusal(_INVALID, f"{missing.what} is exact and must be given")
        return found  # pyright: ignore[reportReturnType]

    def decode_priority(self, entry: p4r.TableEntry) -> int:
        """Non-zero exactly where entries can overlap."""
        priority = entry.priority
        if self.ordered:
            if priority <= 0:
                raise Refusal(
                    _INVALID,
                    f"table {self.name!r} has ternary, range or optional keys: priority must be above 0",
                )
        elif priority != 0:
            raise Refusal(
                _INVALID, f"table {self.name!r}: priority {priority}, but its keys leave nothing to order"
            )
        return priority

    def action(self, action_id: int) -> ActionLayout:
        """The action with this id, as this table uses it."""
        action = self.actions.get(action_id)
        if action is None:
            raise Refusal(_INVALID, f"table {self.name!r} has no action with id {action_id}")
        return action

    def encode(
        self, keys: Sequence[Key], priority: int, action: int | None, values: Sequence[bytes]
    ) -> p4r.TableEntry:
        """An entry as a Read returns it."""
        entry = p4r.TableEntry(table_id=self.id, priority=priority, is_const=self.const)
        for key, value in zip(self.keys, keys, strict=True):
            key.encode(entry, value)
        if action is not None:
            self.actions_by_handle[action].encode(entry.action.action, values)
        return entry
