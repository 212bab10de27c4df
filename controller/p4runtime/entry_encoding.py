# SPDX-License-Identifier: Apache-2.0
"""Table entries as bytes of P4Runtime messages.

A fabric has up to millions of entries. Building a message object for each field takes several times as long
as joining serialised fields, whose tags and lengths follow from the p4info. Errors are InstallErrors that do
not name the node; the client adds the name.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from typing import TypeVar, final

from finsy.proto import p4r

from controller.errors import InstallError
from controller.p4runtime.field_encoding import ENCODERS, REMEDY, Field, sized, tag, varint
from controller.plan.entry import Entry, Exact, Lpm, Match, Params, Range, Ternary
from controller.plan.updates import Kind

__all__ = [
    "LARGEST_PRIORITY",
    "MOST_KNOWN",
    "UPDATE_TYPES",
    "ActionEncoder",
    "TableEncoder",
    "calls_of",
    "describe",
    "unknown",
]

UPDATE_TYPES: Mapping[Kind, int] = {
    "insert": p4r.Update.INSERT,
    "modify": p4r.Update.MODIFY,
    "delete": p4r.Update.DELETE,
}
LARGEST_PRIORITY = (1 << 31) - 1


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
    """Return the error for a name missing from the p4info; its remedy suggests similar names of `among`."""
    close = get_close_matches(name, list(among), n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(sorted(among)) or 'none'}"
    return InstallError(f"{kind} {name} is not in the p4info", remedy=hint)


_UPDATES, _TYPE = tag(p4r.WriteRequest, "updates"), tag(p4r.Update, "type")
_ENTITY, _TABLE_ENTRY = tag(p4r.Update, "entity"), tag(p4r.Entity, "table_entry")
_TABLE_ID = tag(p4r.TableEntry, "table_id")
_ACTION, _PRIORITY = tag(p4r.TableEntry, "action"), tag(p4r.TableEntry, "priority")
_IS_DEFAULT = tag(p4r.TableEntry, "is_default_action") + varint(1)
_DIRECT, _ACTION_SET = (tag(p4r.TableAction, name) for name in ("action", "action_profile_action_set"))
_MEMBER = tag(p4r.ActionProfileActionSet, "action_profile_actions")
_MEMBER_ACTION = tag(p4r.ActionProfileAction, "action")
_WEIGHT_1 = tag(p4r.ActionProfileAction, "weight") + varint(1)
_ACTION_ID = tag(p4r.Action, "action_id")
_HEADS = {kind: _TYPE + varint(type) + _ENTITY for kind, type in UPDATE_TYPES.items()}

Key = tuple[tuple[str, Match], ...]

T = TypeVar("T")

# Cache of serialised parts of entries, by id() of a value; the value is kept as well, so that its id stays
# valid. Entries of a large fabric share few different keys and parameters, mostly as the same objects.
_Known = dict[int, tuple[T, bytes]]
# Largest number of cached parts.
MOST_KNOWN = 1 << 17


def _remember(known: "_Known[T]", value: T, encoded: bytes) -> None:
    if len(known) >= MOST_KNOWN:
        known.clear()
    known[id(value)] = value, encoded


@final
@dataclass(frozen=True, slots=True)
class ActionEncoder:
    """Encoder of calls of one action; `params` are in the order of the p4info."""

    id: int
    name: str
    params: tuple[Field, ...]
    _head: bytes = field(init=False)
    _calls: "_Known[Params]" = field(init=False, repr=False, compare=False)
    _members: "_Known[Params]" = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_head", _ACTION_ID + varint(self.id))
        object.__setattr__(self, "_calls", {})
        object.__setattr__(self, "_members", {})

    def call(self, entry: Entry) -> bytes:
        """Return the serialised field `action` of a TableEntry with a call of this action."""
        known = self._calls.get(id(entry.params))
        if known is not None:
            return known[1]
        content = self._encode(entry, entry.params)
        content = _DIRECT + sized(content)
        content = _ACTION + sized(content)
        _remember(self._calls, entry.params, content)
        return content

    def member(self, entry: Entry, params: Params) -> bytes:
        """Return a serialised member of an action set that calls this action."""
        known = self._members.get(id(params))
        if known is not None:
            return known[1]
        content = self._encode(entry, params)
        content = _MEMBER_ACTION + sized(content) + _WEIGHT_1
        content = _MEMBER + sized(content)
        _remember(self._members, params, content)
        return content

    def _encode(self, entry: Entry, params: Params) -> bytes:
        if len(params) != len(self.params):
            raise InstallError(
                f"table {entry.table}: action {entry.action} takes {len(self.params)} parameters, "
                f"not {len(params)}: {describe(entry)}",
                remedy=REMEDY,
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
    """Encoder of the entries of one table; `actions` has each action by its alias and by its full name."""

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
        object.__setattr__(self, "_head", _TABLE_ID + varint(self.id))

    def encode_update(self, kind: Kind, entry: Entry) -> bytes:
        """Return the serialised field `updates` of a WriteRequest; a deletion has only the key."""
        content = self._match(entry) + _rank(entry) if kind == "delete" else self.encode(entry)
        return _head(kind, len(content)) + content

    def encode(self, entry: Entry) -> bytes:
        """Return the content of the serialised TableEntry."""
        key = self._match(entry)
        chosen = self._action(entry)
        if not entry.members:
            return key + chosen.call(entry) + _rank(entry)
        content = b"".join(chosen.member(entry, params) for params in entry.members)
        content = _ACTION_SET + sized(content)
        return key + _ACTION + sized(content) + _rank(entry)

    def _action(self, entry: Entry) -> ActionEncoder:
        """Return the encoder of an entry's action."""
        chosen = self.actions.get(entry.action)
        if chosen is None:
            raise unknown(f"table {entry.table}: action", entry.action, self.actions)
        return chosen

    def _match(self, entry: Entry) -> bytes:
        """Return the serialised table id and match fields, from the cache if possible."""
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
                wanted = key.kind.__name__ if key.kind else "an unsupported kind"
                raise InstallError(
                    f"table {entry.table}: match field {name} expects {wanted}, got {match!r}", remedy=REMEDY
                )
            if type(match) is Exact:
                parts.append(key.encode(match.value))
            else:
                parts.append(ENCODERS[type(match)](key, match))
        return b"".join(parts)


@cache
def _head(kind: Kind, size: int) -> bytes:
    """Return the bytes of a WriteRequest's update before a TableEntry of `size` bytes."""
    head = b""
    for start in (_TABLE_ENTRY, _HEADS[kind], _UPDATES):
        head = start + varint(len(head) + size) + head
    return head


def _rank(entry: Entry) -> bytes:
    """Return the serialised priority, and the field is_default_action of a default entry."""
    mark = _IS_DEFAULT if entry.default else b""
    if not entry.priority:
        return mark
    if not 0 < entry.priority <= LARGEST_PRIORITY:
        raise InstallError(
            f"table {entry.table}: priority {entry.priority} is not within 1..{LARGEST_PRIORITY}: "
            f"{describe(entry)}",
            remedy=REMEDY,
        )
    return _PRIORITY + varint(entry.priority) + mark
