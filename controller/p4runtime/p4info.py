# SPDX-License-Identifier: Apache-2.0
"""Tables, counters and controller headers by the names and ids of a p4info.

Names are resolved once, and every number is checked against its width. Errors are InstallErrors that do not
name the node; the client adds the name.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import final

from finsy.proto import p4i, p4r
from google.protobuf import text_format

from controller.errors import InstallError
from controller.p4runtime.entry_encoding import Action, TableEncoder, unknown
from controller.p4runtime.field_encoding import Field
from controller.p4runtime.row_encoding import NO_UPDATES, SerialisedUpdates, encode_rows, joined_updates
from controller.plan.entry import Entry, Exact, Lpm, Match, Optional, Params, Range, Ternary
from controller.plan.rows import Block, Rows
from controller.plan.updates import Kind, Part, Update, parts_of

__all__ = ["P4Info"]

# Largest number of entries, and of blocks of entries, whose updates are cached for other nodes.
_MOST_ENTRIES, _MOST_BLOCKS = 1 << 17, 1 << 12

_MATCH_KINDS: dict[int, type[Match]] = {
    p4i.MatchField.EXACT: Exact,
    p4i.MatchField.LPM: Lpm,
    p4i.MatchField.TERNARY: Ternary,
    p4i.MatchField.RANGE: Range,
    p4i.MatchField.OPTIONAL: Optional,
}


@final
class P4Info:
    """Tables, counters and controller headers of a p4info, by alias or full name."""

    def __init__(self, message: p4i.P4Info) -> None:
        self.message = message
        actions = {
            action.preamble.id: Action(
                action.preamble.id,
                action.preamble.alias or action.preamble.name,
                tuple(Field(param.id, param.name, param.bitwidth) for param in action.params),
            )
            for action in message.actions
        }
        full_names = {action.preamble.id: action.preamble.name for action in message.actions}
        self._tables: dict[str, TableEncoder] = {}
        self._tables_by_id: dict[int, TableEncoder] = {}
        for info in message.tables:
            keys = tuple(
                Field(field.id, field.name, field.bitwidth, _MATCH_KINDS.get(field.match_type))
                for field in info.match_fields
            )
            own = {reference.id: actions[reference.id] for reference in info.action_refs}
            table = TableEncoder(
                info.preamble.id,
                info.preamble.alias or info.preamble.name,
                keys,
                {full_names[id]: action for id, action in own.items()}
                | {action.name: action for action in own.values()},
                own,
            )
            self._tables_by_id[table.id] = self._tables[info.preamble.name] = table
            self._tables[table.name] = table
        self._installing: dict[int, tuple[Entry, bytes]] = {}  # by id() of the entry
        self._updates: dict[tuple[Kind, Entry], bytes] = {}
        self._blocks: dict[int, tuple[Block, SerialisedUpdates]] = {}  # by id() of the block
        self._counters = {counter.preamble.name: counter.preamble.id for counter in message.counters}
        self._counters |= {counter.preamble.alias: counter.preamble.id for counter in message.counters}
        self._headers = {
            header.preamble.name: tuple(
                Field(field.id, field.name, field.bitwidth) for field in header.metadata
            )
            for header in message.controller_packet_metadata
        }

    @classmethod
    @lru_cache(maxsize=16)
    def parse(cls, text: bytes) -> "P4Info":
        """Parse a p4info in the text form of p4c; equal texts give the same object."""
        message = p4i.P4Info()
        try:
            text_format.Parse(text.decode(), message)
        except (text_format.ParseError, UnicodeDecodeError) as error:
            raise InstallError(
                f"the p4info is not a text-format P4Info: {error}", remedy="compile the program again"
            ) from error
        return cls(message)

    def layout(self, name: str) -> tuple[dict[str, type[Match] | None], dict[str, tuple[str, ...]]]:
        """Return the kind of match of each key field of a table, and the parameter names of each action."""
        table = self._tables.get(name)
        if table is None:
            raise unknown("table", name, self._tables)
        kinds = {key.name: key.kind for key in table.keys}
        return kinds, {
            action: tuple(param.name for param in chosen.params) for action, chosen in table.actions.items()
        }

    # -- encoding entries

    def encode(self, entry: Entry) -> bytes:
        """Return the content of an entry's serialised TableEntry."""
        return self._table(entry).encode(entry)

    def encode_update(self, kind: Kind, entry: Entry) -> bytes:
        """Return the serialised field `updates` of a WriteRequest; a deletion has only the key."""
        return self._table(entry).encode_update(kind, entry)

    def encode_installing(self, entries: Sequence[Entry]) -> bytes:
        """Return the joined serialised updates to install entries in empty tables."""
        parts = parts_of(entries)
        if parts is not None:
            return b"".join(part.data for part in self.encode_nodes([parts])[0])
        return b"".join(self._installing_updates(entries))

    def encode_updates(self, updates: Sequence[Update]) -> bytes:
        """Return the joined results of `encode_update` for each update."""
        return b"".join([self.encode_update(update.kind, update.entry) for update in updates])

    def encode_nodes(self, nodes: Sequence[Sequence[Part]]) -> list[list[SerialisedUpdates]]:
        """Return the serialised updates of each part of each node; rows of equal layout are encoded together.

        A default entry to insert becomes a modification of the default action.

        Raises:
            InstallError: No message can carry an entry; the error is that of the first such entry in order.
        """
        parts = [part for node in nodes for part in node]
        alike: dict[tuple[Kind, object], dict[int, Rows]] = {}
        for kind, block in parts:
            if isinstance(block, Rows):
                alike.setdefault((kind, block.layout), {})[id(block)] = block
        rows: dict[tuple[Kind, int], SerialisedUpdates] = {}
        try:
            for (kind, _), group in alike.items():
                encoded = self._encode_rows(list(group.values()), kind)
                rows.update(zip(((kind, own) for own in group), encoded, strict=True))
            return [
                [
                    rows[kind, id(block)] if isinstance(block, Rows) else self._encode_tuple(block, kind)
                    for kind, block in node
                ]
                for node in nodes
            ]
        except InstallError:
            for kind, block in parts:
                if isinstance(block, Rows):
                    self._encode_rows([block], kind)
                else:
                    self._encode_tuple(block, kind)
            raise

    def _encode_rows(self, blocks: Sequence[Rows], kind: Kind) -> list[SerialisedUpdates]:
        if not any(map(len, blocks)):
            return [NO_UPDATES] * len(blocks)
        table = self._tables.get(blocks[0].table)
        if table is None:
            raise unknown("table", blocks[0].table, self._tables)
        return encode_rows(table, blocks, kind)

    def _encode_tuple(self, block: tuple[Entry, ...], kind: Kind) -> SerialisedUpdates:
        """Return a block's updates; inserts are cached, as other nodes may have the same block object."""
        if kind != "insert":
            return joined_updates([self._cached_update(kind, entry) for entry in block])
        known = self._blocks.get(id(block))
        if known is None:
            if len(self._blocks) >= _MOST_BLOCKS:
                self._blocks.clear()
            known = self._blocks[id(block)] = block, joined_updates(self._installing_updates(block))
        return known[1]

    def _installing_updates(self, entries: Sequence[Entry]) -> list[bytes]:
        """Return the serialised updates to install entries in empty tables, one for each entry.

        Nodes of a fabric share most entry objects, so updates are cached by object.
        """
        known = self._installing
        if len(known) >= _MOST_ENTRIES:
            known.clear()
        for entry in entries:
            if id(entry) not in known:
                known[id(entry)] = entry, self._cached_update("modify" if entry.default else "insert", entry)
        return [known[id(entry)][1] for entry in entries]

    def _cached_update(self, kind: Kind, entry: Entry) -> bytes:
        """Return `encode_update`, cached: a change of circuits writes equal entries to many nodes."""
        update = self._updates.get((kind, entry))
        if update is None:
            if len(self._updates) >= _MOST_ENTRIES:
                self._updates.clear()
            update = self._updates[kind, entry] = self.encode_update(kind, entry)
        return update

    def _table(self, entry: Entry) -> TableEncoder:
        table = self._tables.get(entry.table)
        if table is None:
            raise unknown("table", entry.table, self._tables)
        return table

    # -- decoding entries

    def decode(self, message: p4r.TableEntry) -> Entry:
        """Return the entry in a message.

        A member of weight w appears w times in the group. Matches that accept every value are left out.

        Raises:
            InstallError: The p4info lacks the table, the action or a match field; members of a group
                call different actions; or a parameter of the action is missing.
        """
        table = self._tables_by_id.get(message.table_id)
        group = message.action.action_profile_action_set.action_profile_actions
        calls = [member.action for member in group for _ in range(member.weight)]
        ids = {call.action_id for call in calls or [message.action.action]}
        action = table.actions_by_id.get(min(ids)) if table is not None and len(ids) == 1 else None
        if table is None or action is None:
            actions = ", ".join(map(str, sorted(ids)))
            raise InstallError(
                f"the p4info has no table with id {message.table_id} and action {actions}",
                remedy="push the pipeline again: the switch runs another program",
            )
        sent = {field.field_id: field for field in message.match}
        if unknown_ids := sent.keys() - {key.id for key in table.keys}:
            raise InstallError(
                f"table {table.name} has no match field with id {min(unknown_ids)}",
                remedy="push the pipeline again: the switch runs another program",
            )
        decoded = ((key, _decode(key, sent[key.id])) for key in table.keys if key.id in sent)
        match = tuple((key.name, match) for key, match in decoded if not _matches_all(match, key.bits))
        members = tuple(_decode_params(action, call) for call in calls)
        params = () if members else _decode_params(action, message.action.action)
        return Entry(
            table.name, match, action.name, params, message.priority, members, message.is_default_action
        )

    # -- ids and metadata

    def table_id(self, name: str) -> int:
        """Return the id of a table."""
        if name not in self._tables:
            raise unknown("table", name, self._tables)
        return self._tables[name].id

    def counter_id(self, name: str) -> int:
        """Return the id of an indexed counter."""
        if name not in self._counters:
            raise unknown("counter", name, self._counters)
        return self._counters[name]

    def encode_metadata(self, values: Mapping[str, int]) -> list[p4r.PacketMetadata]:
        """Return the metadata of a packet-out; a missing field is 0."""
        fields = self._headers.get("packet_out", ())
        names = [field.name for field in fields]
        for name in values:
            if name not in names:
                raise unknown("packet_out: metadata", name, names)
        return [
            p4r.PacketMetadata(metadata_id=field.id, value=field.encode(values.get(field.name, 0)))
            for field in fields
        ]

    def decode_metadata(self, sent: Iterable[p4r.PacketMetadata]) -> dict[str, int]:
        """Return the metadata of a packet-in by name."""
        names = {field.id: field.name for field in self._headers.get("packet_in", ())}
        return {
            names.get(metadata.metadata_id, str(metadata.metadata_id)): int.from_bytes(metadata.value)
            for metadata in sent
        }


def _decode_params(action: Action, call: p4r.Action) -> Params:
    values = {param.param_id: int.from_bytes(param.value) for param in call.params}
    missing = [param.name for param in action.params if param.id not in values]
    if missing:
        raise InstallError(
            f"action {action.name} needs the parameters {', '.join(missing)}", remedy="give their values"
        )
    return tuple((param.name, values[param.id]) for param in action.params)


def _decode(key: Field, field: p4r.FieldMatch) -> Match:
    number = int.from_bytes
    match field.WhichOneof("field_match_type"):
        case "exact":
            return Exact(number(field.exact.value))
        case "lpm":
            return Lpm(number(field.lpm.value), field.lpm.prefix_len - key.wider)
        case "ternary":
            return Ternary(number(field.ternary.value), number(field.ternary.mask))
        case "range":
            return Range(number(field.range.low), number(field.range.high))
        case "optional":
            return Optional(number(field.optional.value))
        case other:
            raise InstallError(
                f"the switch returned a match of kind {other}, which this client cannot read",
                remedy="read the table with another client",
            )


def _matches_all(match: Match, bits: int) -> bool:
    """Return whether a match accepts every value; BMv2 returns full ranges for omitted fields."""
    if isinstance(match, Range):
        return match.low == 0 and match.high == (1 << bits) - 1
    return (isinstance(match, Lpm) and match.prefix == 0) or (isinstance(match, Ternary) and match.mask == 0)
