# SPDX-License-Identifier: Apache-2.0
"""Table entries as P4Runtime messages, by the names and ids of a p4info.

Names are resolved once and every number is checked against its width, so that a whole rack's entries are
encoded in a fraction of a second. Errors are InstallErrors that do not name a node: the client does.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import final

from finsy.proto import p4i, p4r
from google.protobuf import text_format

from controller.errors import InstallError
from controller.plan import Entry, Exact, Lpm, Match, Optional, Params, Range, Ternary

__all__ = ["P4Info", "calls_of", "describe"]

_REMEDY = "plan entries for the program whose p4info was pushed"

_MATCH_KINDS: dict[int, type[Match]] = {
    p4i.MatchField.EXACT: Exact,
    p4i.MatchField.LPM: Lpm,
    p4i.MatchField.TERNARY: Ternary,
    p4i.MatchField.RANGE: Range,
    p4i.MatchField.OPTIONAL: Optional,
}


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


def _encode(value: int, bits: int, what: str) -> bytes:
    """Return the canonical bytestring of a number that fits in `bits`."""
    if value < 0 or value >> bits:
        raise InstallError(f"{what} = {value:#x} does not fit in {bits} bits", remedy=_REMEDY)
    return value.to_bytes((value.bit_length() + 7) >> 3 or 1)


@final
@dataclass(frozen=True, slots=True)
class _Field:
    """A match field, an action parameter or a metadata field; `kind` is None for the latter two."""

    id: int
    name: str
    bits: int
    kind: type[Match] | None = None


@final
@dataclass(frozen=True, slots=True)
class _Action:
    id: int
    name: str
    params: tuple[_Field, ...]


@final
@dataclass(frozen=True, slots=True)
class _Table:
    id: int
    name: str
    keys: tuple[_Field, ...]
    keys_by_name: Mapping[str, _Field]
    actions: Mapping[str, _Action]
    actions_by_id: Mapping[int, _Action]


@final
class P4Info:
    """Tables, counters and controller headers of a p4info, by alias or full name."""

    def __init__(self, message: p4i.P4Info) -> None:
        self.message = message
        actions = {
            action.preamble.id: _Action(
                action.preamble.id,
                action.preamble.alias or action.preamble.name,
                tuple(_Field(param.id, param.name, param.bitwidth) for param in action.params),
            )
            for action in message.actions
        }
        full_names = {action.preamble.id: action.preamble.name for action in message.actions}
        self._tables: dict[str, _Table] = {}
        self._tables_by_id: dict[int, _Table] = {}
        for info in message.tables:
            keys = tuple(
                _Field(field.id, field.name, field.bitwidth, _MATCH_KINDS.get(field.match_type))
                for field in info.match_fields
            )
            own = {reference.id: actions[reference.id] for reference in info.action_refs}
            table = _Table(
                info.preamble.id,
                info.preamble.alias or info.preamble.name,
                keys,
                {key.name: key for key in keys},
                {full_names[id]: action for id, action in own.items()}
                | {action.name: action for action in own.values()},
                own,
            )
            self._tables_by_id[table.id] = self._tables[info.preamble.name] = table
            self._tables[table.name] = table
        self._counters = {counter.preamble.name: counter.preamble.id for counter in message.counters}
        self._counters |= {counter.preamble.alias: counter.preamble.id for counter in message.counters}
        self._headers = {
            header.preamble.name: tuple(
                _Field(field.id, field.name, field.bitwidth) for field in header.metadata
            )
            for header in message.controller_packet_metadata
        }

    @classmethod
    @lru_cache(maxsize=16)
    def parse(cls, text: bytes) -> "P4Info":
        """Parse the text form that p4c writes; callers share the result of equal texts."""
        message = p4i.P4Info()
        try:
            text_format.Parse(text.decode(), message)
        except (text_format.ParseError, UnicodeDecodeError) as error:
            raise InstallError(
                f"the p4info is not a text-format P4Info: {error}", remedy="compile the program again"
            ) from error
        return cls(message)

    def layout(self, name: str) -> tuple[dict[str, type[Match] | None], dict[str, tuple[str, ...]]]:
        """Return the kinds of a table's keys, and the parameters of its actions by their names."""
        table = self._tables.get(name)
        if table is None:
            raise _unknown("table", name, self._tables)
        kinds = {key.name: key.kind for key in table.keys}
        return kinds, {
            action: tuple(param.name for param in chosen.params) for action, chosen in table.actions.items()
        }

    # -- entries out

    def encode(self, entry: Entry, message: p4r.TableEntry) -> None:
        """Fill in an empty message with an entry."""
        table = self._tables.get(entry.table)
        if table is None:
            raise _unknown("table", entry.table, self._tables)
        self._encode_key(table, entry, message)
        chosen = table.actions.get(entry.action)
        if chosen is None:
            raise _unknown(f"table {entry.table}: action", entry.action, table.actions)
        if not entry.members:
            self._encode_action(entry, chosen, entry.params, message.action.action)
            return
        add = message.action.action_profile_action_set.action_profile_actions.add
        for params in entry.members:
            member = add()
            member.weight = 1
            self._encode_action(entry, chosen, params, member.action)

    @staticmethod
    def _encode_action(entry: Entry, chosen: _Action, params: Params, action: p4r.Action) -> None:
        action.action_id = chosen.id
        if len(params) != len(chosen.params):
            raise InstallError(
                f"table {entry.table}: action {entry.action} takes {len(chosen.params)} parameters, "
                f"not {len(params)}: {describe(entry)}",
                remedy=_REMEDY,
            )
        add = action.params.add
        for (name, value), param in zip(params, chosen.params, strict=True):
            if name != param.name:
                raise _unknown(f"table {entry.table}: action {entry.action}: parameter", name, [param.name])
            sent = add()
            sent.param_id = param.id
            sent.value = _encode(value, param.bits, name)

    def encode_key(self, entry: Entry, message: p4r.TableEntry) -> None:
        """Fill in table, match and priority only, which identify an entry to delete."""
        table = self._tables.get(entry.table)
        if table is None:
            raise _unknown("table", entry.table, self._tables)
        self._encode_key(table, entry, message)

    def _encode_key(self, table: _Table, entry: Entry, message: p4r.TableEntry) -> None:
        message.table_id = table.id
        if entry.default:
            message.is_default_action = True
        if entry.priority:
            message.priority = entry.priority
        keys, add = table.keys_by_name, message.match.add
        for name, match in entry.match:
            key = keys.get(name)
            if key is None:
                raise _unknown(f"table {entry.table}: match field", name, keys)
            if type(match) is not key.kind:
                wanted = key.kind.__name__ if key.kind else "of an unsupported kind"
                raise InstallError(f"table {entry.table}: {name} is {wanted}, not {match!r}", remedy=_REMEDY)
            field = add()
            field.field_id = key.id
            if type(match) is Exact:
                field.exact.value = _encode(match.value, key.bits, name)
            else:
                _ENCODERS[type(match)](field, match, key)

    # -- entries in

    def decode(self, message: p4r.TableEntry) -> Entry:
        """Return the entry in a message of a switch; InstallError if the p4info does not have its action.

        A group of members consists of calls of a single action; a member of weight w appears w times.
        """
        table = self._tables_by_id.get(message.table_id)
        group = message.action.action_profile_action_set.action_profile_actions
        calls = [member.action for member in group for _ in range(member.weight)]
        ids = {call.action_id for call in calls or [message.action.action]}
        action = table.actions_by_id.get(min(ids)) if table is not None and len(ids) == 1 else None
        if table is None or action is None:
            raise InstallError(
                f"the switch has an entry of table {message.table_id} with action "
                f"{', '.join(map(str, sorted(ids)))}, which the p4info does not name",
                remedy="push the pipeline again: the switch runs another program",
            )
        sent = {field.field_id: field for field in message.match}
        decoded = ((key, _decode(sent[key.id])) for key in table.keys if key.id in sent)
        match = tuple((key.name, match) for key, match in decoded if not _matches_all(match, key.bits))
        members = tuple(_decode_params(action, call) for call in calls)
        params = () if members else _decode_params(action, message.action.action)
        return Entry(
            table.name, match, action.name, params, message.priority, members, message.is_default_action
        )

    # -- everything else

    def table_id(self, name: str) -> int:
        """Return the id of a table."""
        if name not in self._tables:
            raise _unknown("table", name, self._tables)
        return self._tables[name].id

    def counter_id(self, name: str) -> int:
        """Return the id of an indexed counter."""
        if name not in self._counters:
            raise _unknown("counter", name, self._counters)
        return self._counters[name]

    def encode_metadata(self, values: Mapping[str, int]) -> list[p4r.PacketMetadata]:
        """Return the metadata of a packet-out; a missing field is 0."""
        fields = self._headers.get("packet_out", ())
        names = [field.name for field in fields]
        for name in values:
            if name not in names:
                raise _unknown("packet_out: metadata", name, names)
        return [
            p4r.PacketMetadata(
                metadata_id=field.id, value=_encode(values.get(field.name, 0), field.bits, field.name)
            )
            for field in fields
        ]

    def decode_metadata(self, sent: Iterable[p4r.PacketMetadata]) -> dict[str, int]:
        """Return the metadata of a packet-in by name."""
        names = {field.id: field.name for field in self._headers.get("packet_in", ())}
        return {
            names.get(metadata.metadata_id, str(metadata.metadata_id)): int.from_bytes(metadata.value)
            for metadata in sent
        }


def _encode_lpm(field: p4r.FieldMatch, match: Lpm, key: _Field) -> None:
    field.lpm.value, field.lpm.prefix_len = _encode(match.value, key.bits, key.name), match.prefix


def _encode_ternary(field: p4r.FieldMatch, match: Ternary, key: _Field) -> None:
    field.ternary.value = _encode(match.value, key.bits, key.name)
    field.ternary.mask = _encode(match.mask, key.bits, f"{key.name} mask")


def _encode_range(field: p4r.FieldMatch, match: Range, key: _Field) -> None:
    field.range.low, field.range.high = (
        _encode(match.low, key.bits, key.name),
        _encode(match.high, key.bits, key.name),
    )


def _encode_optional(field: p4r.FieldMatch, match: Optional, key: _Field) -> None:
    field.optional.value = _encode(match.value, key.bits, key.name)


_ENCODERS: dict[type, Callable[..., None]] = {
    Lpm: _encode_lpm,
    Ternary: _encode_ternary,
    Range: _encode_range,
    Optional: _encode_optional,
}


def _decode_params(action: _Action, call: p4r.Action) -> Params:
    values = {param.param_id: int.from_bytes(param.value) for param in call.params}
    return tuple((param.name, values[param.id]) for param in action.params)


def _decode(field: p4r.FieldMatch) -> Match:
    number = int.from_bytes
    match field.WhichOneof("field_match_type"):
        case "exact":
            return Exact(number(field.exact.value))
        case "lpm":
            return Lpm(number(field.lpm.value), field.lpm.prefix_len)
        case "ternary":
            return Ternary(number(field.ternary.value), number(field.ternary.mask))
        case "range":
            return Range(number(field.range.low), number(field.range.high))
        case "optional":
            return Optional(number(field.optional.value))
        case other:
            raise InstallError(
                f"the switch returned a match of kind {other}", remedy="read it with another client"
            )


def _matches_all(match: Match, bits: int) -> bool:
    """Return whether a match accepts every value; BMv2 returns full ranges that an entry left out."""
    if isinstance(match, Range):
        return match.low == 0 and match.high == (1 << bits) - 1
    return (isinstance(match, Lpm) and match.prefix == 0) or (isinstance(match, Ternary) and match.mask == 0)


def _unknown(kind: str, name: str, among: Iterable[str] | Sequence[str]) -> InstallError:
    close = get_close_matches(name, list(among), n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(sorted(among)) or 'none'}"
    return InstallError(f"{kind} {name} is not in the p4info", remedy=hint)
