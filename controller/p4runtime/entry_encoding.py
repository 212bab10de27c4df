# SPDX-License-Identifier: Apache-2.0
"""Table entries as bytes of P4Runtime messages.

A fabric has up to millions of entries. To build a message object for each field takes several times as long
as to join serialised fields, whose tags and lengths follow from the p4info. Errors are InstallErrors that do
not name a node: the client does.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Literal, TypeVar, final

from finsy.proto import p4r

from controller.errors import InstallError
from controller.plan import Entry, Exact, Lpm, Match, Optional, Params, Range, Ternary

__all__ = [
    "ActionEncoder",
    "Field",
    "Kind",
    "TableEncoder",
    "bytestring",
    "calls_of",
    "describe",
    "match_field",
    "parameter",
    "unknown",
]

Kind = Literal["insert", "modify", "delete"]

_REMEDY = "plan entries for the program whose p4info was pushed"
_TYPES = {"insert": p4r.Update.INSERT, "modify": p4r.Update.MODIFY, "delete": p4r.Update.DELETE}
_LARGEST_PRIORITY = (1 << 31) - 1

# Key by which tables look up destinations, and the bits of addresses in plans.
_ADDRESS_KEY, _ADDRESS_BITS = "dcna", 16


def describe(entry: Entry) -> str:
    """Describe an entry: `dcna=0x0009 bucket=3 -> push_route(bitmap=0x800, instr=0x0a0000000000)`."""
    match = " ".join(f"{name}={_show(value)}" for name, value in entry.match) or "(no match)"
    calls = (", ".join(f"{name}={value:#x}" for name, value in params) for params in calls_of(entry))
    return f"{match} -> " + " | ".join(f"{entry.action}({params})" for params in calls)


def calls_of(entry: Entry) -> tuple[Params, ...]:
    """Return the parameters of an entry's action, or of the action of each member of its group."""
    return entry.members or (entry.params,)


def _show(match: Match) -> str:
    if isinstance(match, Lpm):
        return f"{match.value:#x}/{match.prefix}"
    if isinstance(match, Ternary):
        return f"{match.value:#x}&&&{match.mask:#x}"
    if isinstance(match, Range):
        return f"{match.low:#x}..{match.high:#x}"
    return f"{match.value:#x}"


def unknown(kind: str, name: str, among: Iterable[str] | Sequence[str]) -> InstallError:
    """Return the error for a name that the p4info lacks, with similar names."""
    close = get_close_matches(name, list(among), n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(sorted(among)) or 'none'}"
    return InstallError(f"{kind} {name} is not in the p4info", remedy=hint)


# -- protocol buffers' wire format


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


_SIZES = [_varint(size) for size in range(1 << 10)]


def _size(content: bytes) -> bytes:
    return _SIZES[len(content)] if len(content) < len(_SIZES) else _varint(len(content))


def _tag(message: type, name: str) -> bytes:
    """Return the tag of a field of a message."""
    descriptor = message.DESCRIPTOR.fields_by_name[name]  # type: ignore[attr-defined]
    is_number = descriptor.cpp_type not in (descriptor.CPPTYPE_STRING, descriptor.CPPTYPE_MESSAGE)
    return _varint(descriptor.number << 3 | (0 if is_number else 2))


_UPDATES, _TYPE = _tag(p4r.WriteRequest, "updates"), _tag(p4r.Update, "type")
_ENTITY, _TABLE_ENTRY = _tag(p4r.Update, "entity"), _tag(p4r.Entity, "table_entry")
_TABLE_ID, _MATCH = _tag(p4r.TableEntry, "table_id"), _tag(p4r.TableEntry, "match")
_ACTION, _PRIORITY = _tag(p4r.TableEntry, "action"), _tag(p4r.TableEntry, "priority")
_IS_DEFAULT = _tag(p4r.TableEntry, "is_default_action") + _varint(1)
_FIELD_ID = _tag(p4r.FieldMatch, "field_id")
_PREFIX_LENGTH = _tag(p4r.FieldMatch.LPM, "prefix_len")
_DIRECT, _ACTION_SET = (_tag(p4r.TableAction, name) for name in ("action", "action_profile_action_set"))
_MEMBER = _tag(p4r.ActionProfileActionSet, "action_profile_actions")
_MEMBER_ACTION = _tag(p4r.ActionProfileAction, "action")
_WEIGHT_1 = _tag(p4r.ActionProfileAction, "weight") + _varint(1)
_ACTION_ID, _PARAMS = _tag(p4r.Action, "action_id"), _tag(p4r.Action, "params")
_PARAM_ID, _PARAM_VALUE = (_tag(p4r.Action.Param, name) for name in ("param_id", "value"))
_HEADS = {kind: _TYPE + _varint(type) + _ENTITY for kind, type in _TYPES.items()}


def bytestring(value: int, bits: int, what: str) -> bytes:
    """Return the canonical bytestring of a number that fits in `bits`."""
    if value < 0 or value >> bits:
        raise InstallError(f"{what} = {value:#x} does not fit in {bits} bits", remedy=_REMEDY)
    return value.to_bytes((value.bit_length() + 7) >> 3 or 1)


# -- fields


@final
@dataclass(frozen=True, slots=True)
class Field:
    """A match field or a parameter; `kind` is None for a parameter, and for a kind of match not supported.

    `heads`, by the number of bytes of its value: all that comes before the value in the serialised field.
    `wider`: bits of the key beyond those of an address, of a program whose network header is CNA24. They are
    0 in every address, and prefixes of a plan do not count them.
    """

    id: int
    name: str
    bits: int
    kind: type[Match] | None
    heads: tuple[bytes, ...]
    wider: int = 0

    def encode(self, value: int) -> bytes:
        """Return the serialised field with a single value."""
        if value < 0 or value >> self.bits:
            bytestring(value, self.bits, self.name)  # raises
        size = (value.bit_length() + 7) >> 3 or 1
        return self.heads[size] + value.to_bytes(size)


def parameter(id: int, name: str, bits: int) -> Field:
    """Return a parameter of an action: an element of Action.params."""
    inside = _PARAM_ID + _varint(id) + _PARAM_VALUE
    heads = (
        _PARAMS + _varint(len(inside) + len(_varint(size)) + size) + inside + _varint(size)
        for size in _value_sizes(bits)
    )
    return Field(id, name, bits, None, tuple(heads))


def match_field(id: int, name: str, bits: int, kind: type[Match] | None) -> Field:
    """Return a field of a table's key: an element of TableEntry.match."""
    heads: Iterable[bytes] = ()
    if kind is Exact or kind is Optional:
        chosen, message = ("exact", p4r.FieldMatch.Exact) if kind is Exact else _OPTIONAL
        value = _tag(message, "value")
        heads = (
            _match_head(id, chosen, len(value) + len(_varint(size)) + size) + value + _varint(size)
            for size in _value_sizes(bits)
        )
    wider = max(0, bits - _ADDRESS_BITS) if name == _ADDRESS_KEY else 0
    return Field(id, name, bits, kind, tuple(heads), wider)


_OPTIONAL = ("optional", p4r.FieldMatch.Optional)


def _value_sizes(bits: int) -> range:
    return range((bits + 7) // 8 + 1)


def _match_head(id: int, chosen: str, size: int) -> bytes:
    inside = _FIELD_ID + _varint(id) + _tag(p4r.FieldMatch, chosen) + _varint(size)
    return _MATCH + _varint(len(inside) + size) + inside


def _encode_lpm(key: Field, match: Lpm) -> bytes:
    value = bytestring(match.value, key.bits, key.name)
    content = _tag(p4r.FieldMatch.LPM, "value") + _size(value) + value
    prefix = match.prefix + key.wider
    if prefix:
        content += _PREFIX_LENGTH + _varint(prefix & ((1 << 64) - 1))
    return _match_head(key.id, "lpm", len(content)) + content


def _pair(key: Field, chosen: str, message: type, **values: bytes) -> bytes:
    content = b"".join(_tag(message, name) + _size(value) + value for name, value in values.items())
    return _match_head(key.id, chosen, len(content)) + content


def _encode_ternary(key: Field, match: Ternary) -> bytes:
    value = bytestring(match.value, key.bits, key.name)
    mask = bytestring(match.mask, key.bits, f"{key.name} mask")
    return _pair(key, "ternary", p4r.FieldMatch.Ternary, value=value, mask=mask)


def _encode_range(key: Field, match: Range) -> bytes:
    low, high = (bytestring(value, key.bits, key.name) for value in (match.low, match.high))
    return _pair(key, "range", p4r.FieldMatch.Range, low=low, high=high)


def _encode_optional(key: Field, match: Optional) -> bytes:
    return key.encode(match.value)


_ENCODERS: dict[type, Callable[..., bytes]] = {
    Lpm: _encode_lpm,
    Ternary: _encode_ternary,
    Range: _encode_range,
    Optional: _encode_optional,
}


# -- entries

Key = tuple[tuple[str, Match], ...]

T = TypeVar("T")

# Serialised parts of entries by the identity of the value, which stands beside them so that it stays alive.
# Entries of a large fabric have few different keys and parameters, most of which are the same objects.
_Known = dict[int, tuple[T, bytes]]
_MOST_KNOWN = 1 << 17


def _remember(known: "_Known[T]", value: T, encoded: bytes) -> None:
    if len(known) >= _MOST_KNOWN:
        known.clear()
    known[id(value)] = value, encoded


@final
@dataclass(frozen=True, slots=True)
class ActionEncoder:
    """An action of a p4info, its parameters in order."""

    id: int
    name: str
    params: tuple[Field, ...]
    _head: bytes = field(init=False)
    _known: "_Known[Params]" = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_head", _ACTION_ID + _varint(self.id))
        object.__setattr__(self, "_known", {})

    def encode(self, entry: Entry, params: Params) -> bytes:
        """Return the serialised Action with these parameters."""
        known = self._known.get(id(params))
        if known is not None:
            return known[1]
        encoded = self._encode(entry, params)
        _remember(self._known, params, encoded)
        return encoded

    def _encode(self, entry: Entry, params: Params) -> bytes:
        if len(params) != len(self.params):
            raise InstallError(
                f"table {entry.table}: action {entry.action} takes {len(self.params)} parameters, "
                f"not {len(params)}: {describe(entry)}",
                remedy=_REMEDY,
            )
        parts = [self._head]
        for (name, value), param in zip(params, self.params, strict=True):
            if name != param.name:
                raise unknown(f"table {entry.table}: action {entry.action}: parameter", name, [param.name])
            parts.append(param.encode(value))
        return b"".join(parts)


@final
@dataclass(frozen=True, slots=True)
class TableEncoder:
    """A table of a p4info; `actions` has each action by its alias and by its full name."""

    id: int
    name: str
    keys: tuple[Field, ...]
    actions: Mapping[str, ActionEncoder]
    actions_by_id: Mapping[int, ActionEncoder]
    keys_by_name: Mapping[str, Field] = field(init=False)
    _head: bytes = field(init=False)
    _known: "_Known[Key]" = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_known", {})
        object.__setattr__(self, "keys_by_name", {key.name: key for key in self.keys})
        object.__setattr__(self, "_head", _TABLE_ID + _varint(self.id))

    def encode_update(self, kind: Kind, entry: Entry) -> bytes:
        """Return the serialised field `updates` of a WriteRequest; a deletion names the key only."""
        content = self._key(entry) + _rank(entry) if kind == "delete" else self.encode(entry)
        content = _TABLE_ENTRY + _size(content) + content
        content = _HEADS[kind] + _size(content) + content
        return _UPDATES + _size(content) + content

    def encode(self, entry: Entry) -> bytes:
        """Return the serialised TableEntry."""
        key = self._key(entry)
        chosen = self.actions.get(entry.action)
        if chosen is None:
            raise unknown(f"table {entry.table}: action", entry.action, self.actions)
        if entry.members:
            content = b"".join(_member(chosen.encode(entry, params)) for params in entry.members)
            content = _ACTION_SET + _size(content) + content
        else:
            content = chosen.encode(entry, entry.params)
            content = _DIRECT + _size(content) + content
        return key + _ACTION + _size(content) + content + _rank(entry)

    def _key(self, entry: Entry) -> bytes:
        """Return the serialised table and match."""
        known = self._known.get(id(entry.match))
        if known is not None:
            return known[1]
        encoded = self._encode_key(entry)
        _remember(self._known, entry.match, encoded)
        return encoded

    def _encode_key(self, entry: Entry) -> bytes:
        keys = self.keys_by_name
        parts = [self._head]
        for name, match in entry.match:
            key = keys.get(name)
            if key is None:
                raise unknown(f"table {entry.table}: match field", name, keys)
            if type(match) is not key.kind:
                wanted = key.kind.__name__ if key.kind else "of an unsupported kind"
                raise InstallError(f"table {entry.table}: {name} is {wanted}, not {match!r}", remedy=_REMEDY)
            if type(match) is Exact:
                parts.append(key.encode(match.value))
            else:
                parts.append(_ENCODERS[type(match)](key, match))
        return b"".join(parts)


def _member(action: bytes) -> bytes:
    content = _MEMBER_ACTION + _size(action) + action + _WEIGHT_1
    return _MEMBER + _size(content) + content


def _rank(entry: Entry) -> bytes:
    """Return the serialised priority, and the mark of a default entry."""
    mark = _IS_DEFAULT if entry.default else b""
    if not entry.priority:
        return mark
    if not 0 < entry.priority <= _LARGEST_PRIORITY:
        raise InstallError(
            f"table {entry.table}: priority {entry.priority} is not within 1..{_LARGEST_PRIORITY}: "
            f"{describe(entry)}",
            remedy=_REMEDY,
        )
    return _PRIORITY + _varint(entry.priority) + mark
