# SPDX-License-Identifier: Apache-2.0
"""Table entries as bytes of P4Runtime messages.

Most entries of a large fabric are rows of tables, which `row_encoding` encodes without objects. Errors are
InstallErrors that do not name the node; the client adds the name.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import final

from finsy.proto import p4r

from controller.errors import InstallError
from controller.p4runtime.field_encoding import REMEDY, Field
from controller.plan.entry import Entry, Exact, Lpm, Match, Optional, Params, Range, Ternary
from controller.plan.updates import Kind

__all__ = ["LARGEST_PRIORITY", "UPDATE_TYPES", "Action", "TableEncoder", "calls_of", "describe", "unknown"]

UPDATE_TYPES: "Mapping[Kind, p4r.Update.Type.ValueType]" = {
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


@final
@dataclass(frozen=True, slots=True)
class Action:
    """An action of a p4info; `params` are in the order of the p4info."""

    id: int
    name: str
    params: tuple[Field, ...]

    def call(self, entry: Entry, params: Params) -> p4r.Action:
        """Return a call of the action, by an entry or by a member of its group."""
        if len(params) != len(self.params):
            raise InstallError(
                f"table {entry.table}: action {entry.action} takes {len(self.params)} parameters, "
                f"not {len(params)}: {describe(entry)}",
                remedy=REMEDY,
            )
        message = p4r.Action(action_id=self.id)
        for (name, value), param in zip(params, self.params, strict=True):
            if name != param.name:
                raise unknown(f"table {entry.table}: action {entry.action}: parameter", name, [param.name])
            message.params.add(param_id=param.id, value=param.encode(value))
        return message


@final
@dataclass(frozen=True)
class TableEncoder:
    """Encoder of the entries of one table; `actions` has each action by its alias and by its full name."""

    id: int
    name: str
    keys: tuple[Field, ...]
    actions: Mapping[str, Action]
    actions_by_id: Mapping[int, Action]

    @cached_property
    def keys_by_name(self) -> Mapping[str, Field]:
        """Match fields by name."""
        return {key.name: key for key in self.keys}

    def encode_update(self, kind: Kind, entry: Entry) -> bytes:
        """Return the serialised field `updates` of a WriteRequest; a deletion has only the key."""
        update = p4r.Update(
            type=UPDATE_TYPES[kind], entity=p4r.Entity(table_entry=self._message(entry, kind != "delete"))
        )
        return p4r.WriteRequest(updates=[update]).SerializeToString()

    def encode(self, entry: Entry) -> bytes:
        """Return the serialised TableEntry."""
        return self._message(entry, has_action=True).SerializeToString()

    def _message(self, entry: Entry, has_action: bool) -> p4r.TableEntry:
        message = p4r.TableEntry(table_id=self.id, is_default_action=entry.default)
        for name, match in entry.match:
            self._add_match(message.match.add(), entry, name, match)
        if has_action:
            self._set_action(message.action, entry)
        if entry.priority and not 0 < entry.priority <= LARGEST_PRIORITY:
            raise InstallError(
                f"table {entry.table}: priority {entry.priority} is not within 1..{LARGEST_PRIORITY}: "
                f"{describe(entry)}",
                remedy=REMEDY,
            )
        message.priority = entry.priority
        return message

    def _add_match(self, field: p4r.FieldMatch, entry: Entry, name: str, match: Match) -> None:
        key = self.keys_by_name.get(name)
        if key is None:
            raise unknown(f"table {entry.table}: match field", name, self.keys_by_name)
        if type(match) is not key.kind:
            wanted = key.kind.__name__ if key.kind else "an unsupported kind"
            raise InstallError(
                f"table {entry.table}: match field {name} expects {wanted}, got {match!r}", remedy=REMEDY
            )
        field.field_id = key.id
        match match:
            case Exact(value):
                field.exact.value = key.encode(value)
            case Optional(value):
                field.optional.value = key.encode(value)
            case Lpm(value, prefix):
                field.lpm.value = key.encode(value)
                field.lpm.prefix_len = _prefix_length(key, prefix)
            case Ternary(value, mask):
                field.ternary.value = key.encode(value)
                field.ternary.mask = key.encode(mask, f"{name} mask")
            case Range(low, high):
                field.range.low, field.range.high = key.encode(low), key.encode(high)

    def _set_action(self, message: p4r.TableAction, entry: Entry) -> None:
        action = self.actions.get(entry.action)
        if action is None:
            raise unknown(f"table {entry.table}: action", entry.action, self.actions)
        if not entry.members:
            message.action.CopyFrom(action.call(entry, entry.params))
        for params in entry.members:
            message.action_profile_action_set.action_profile_actions.add(
                action=action.call(entry, params), weight=1
            )


def _prefix_length(key: Field, prefix: int) -> int:
    """Return the prefix length in a message; InstallError if it does not fit in the message."""
    length = prefix + key.wider
    if abs(length) >> 31:
        raise InstallError(f"{key.name}: prefix length {prefix} does not fit in 32 bits", remedy=REMEDY)
    return length
