# SPDX-License-Identifier: Apache-2.0
"""Table entries and default entries of one switch, their direct counters and meters, their idle timeouts."""

from collections.abc import Iterator, Sequence
from typing import final

from finsy.proto import p4r, rpc_code

from emulation import _engine
from emulation.p4runtime.entities.entries import EntryKey, check_constant, check_direct, entry_key, selected
from emulation.p4runtime.entities.profiles import Profiles
from emulation.p4runtime.pipeline.layout import Rates, TableLayout, meter_config
from emulation.p4runtime.pipeline.match import Key
from emulation.p4runtime.pipeline.pipelines import Pipeline
from emulation.p4runtime.status import Refusal, engine_refusal

__all__ = ["Row", "Tables"]

_INVALID, _DENIED = rpc_code.INVALID_ARGUMENT, rpc_code.PERMISSION_DENIED
_INSERT, _MODIFY, _DELETE = p4r.Update.INSERT, p4r.Update.MODIFY, p4r.Update.DELETE
_MEMBER, _GROUP = -1, -2  # the engine's action numbers of entries that point to a member or a group
_PS_A_NS = 1000
_LONGEST_PS = (1 << 63) - 1

Row = tuple[list[Key], int, int, list[bytes], int, int]
"""An entry in the engine's form: key, priority, action, parameters, packets, bytes."""

# Properties of an entry that the engine does not keep: metadata, controller_metadata, idle_timeout_ns.
_Note = tuple[bytes, int, int]


@final
class Tables:
    """P4Runtime writes and reads of the table entries of a switch. Callers hold the engine's lock."""

    def __init__(
        self, network: _engine.SwitchSet, switch: int, pipeline: Pipeline, profiles: Profiles
    ) -> None:
        self._network = network
        self._switch = switch
        self._tables = pipeline.tables
        self._layouts = pipeline.entry_layouts
        self._by_handle = {table.handle: table for table in pipeline.tables.values()}
        self._profiles = profiles
        self._notes: dict[EntryKey, _Note] = {}
        self._own_default: set[int] = set()
        for table in pipeline.tables.values():
            network.table_set_constant(switch, table.handle, table.const)

    def table(self, table_id: int) -> TableLayout:
        """Return the table with an id; INVALID_ARGUMENT for an unknown id."""
        table = self._tables.get(table_id)
        if table is None:
            raise Refusal(_INVALID, f"there is no table with id {table_id}")
        return table

    def chosen(self, table_id: int) -> list[TableLayout]:
        """Return the table with an id in a list, or all tables for id 0."""
        return [self.table(table_id)] if table_id else list(self._tables.values())

    # -- writes

    def write_serialised(self, updates: _engine.EntryUpdates) -> None:
        """Carry out updates in the engine, stopping before the first one that needs write()."""
        if not self._notes:  # the engine would not update the notes
            self._network.write_entries(self._switch, self._layouts, updates)

    def write(self, kind: int, entry: p4r.TableEntry) -> None:
        """Carry out an INSERT, MODIFY or DELETE of an entry, or a MODIFY of a default entry."""
        table = self._tables.get(entry.table_id) or self.table(entry.table_id)
        if entry.is_const:
            raise Refusal(_INVALID, f"table {table.name!r}: is_const must not be set in a write")
        if entry.is_default_action:
            self._write_default(kind, table, entry)
            return
        if not table.keys:
            raise Refusal(_INVALID, f"table {table.name!r} has no key, so it has only a default entry")
        if table.const:
            check_constant(kind, table, entry)
        keys = table.decode_match(entry)
        priority = table.decode_priority(entry)
        if kind == _DELETE:
            self._delete(table, keys, priority)
            return
        rates = check_direct(table, entry)
        wanted = entry.action
        which = wanted.WhichOneof("type")
        if which is None:
            self._keep_action(kind, table, keys, priority)
        elif table.profile:
            self._point(kind, table, wanted, keys, priority)
        elif which != "action":
            raise Refusal(_INVALID, f"table {table.name!r} has direct actions; give an action, not a member")
        else:
            sent = wanted.action
            action = table.actions.get(sent.action_id) or table.action(sent.action_id)
            values = action.decode(sent)
            if not action.for_entries:
                raise Refusal(
                    _DENIED, f"table {table.name!r}: action {action.name!r} is for the default entry"
                )
            operate = self._network.table_insert if kind == _INSERT else self._network.table_modify
            status = operate(self._switch, table.handle, keys, priority, action.handle, values)
            if status:
                raise engine_refusal(status, f"table {table.name!r}")
        if table.has_direct:
            self._write_direct(kind, table, entry, keys, priority, rates)
        if self._notes or entry.metadata or entry.controller_metadata or entry.idle_timeout_ns:
            self._remember(entry_key(table, keys, priority), entry)

    def _keep_action(self, kind: int, table: TableLayout, keys: list[Key], priority: int) -> None:
        """Refuse a write without an action, unless it is a MODIFY of an existing entry."""
        if kind == _INSERT:
            raise Refusal(_INVALID, f"table {table.name!r}: an INSERT needs an action")
        if self._network.table_get(self._switch, table.handle, keys, priority) is None:
            raise Refusal(
                rpc_code.NOT_FOUND, f"table {table.name!r} has no entry with the match key of the MODIFY"
            )

    def _point(
        self, kind: int, table: TableLayout, action: p4r.TableAction, keys: list[Key], priority: int
    ) -> None:
        """Point an entry of an indirect table to a member, a group or an action set's group."""
        which = action.WhichOneof("type")
        if which == "action":
            raise Refusal(_INVALID, f"table {table.name!r} has an action profile, not direct actions")
        replaced = self._set_of(table, keys, priority) if kind == _MODIFY else None
        if which == "action_profile_action_set":
            target = self._profiles.insert_set(table.profile, action.action_profile_action_set, replaced)
        else:
            self._profiles.require(table.profile, action)
            target = action.action_profile_member_id or action.action_profile_group_id
        group = which != "action_profile_member_id"
        status = self._network.table_point(
            self._switch, table.handle, keys, priority, group, target, kind == _INSERT
        )
        unused = target if status else replaced
        if unused is not None:
            self._profiles.delete_set(table.profile, unused)
        if status:
            raise engine_refusal(status, f"table {table.name!r}")

    def _set_of(self, table: TableLayout, keys: list[Key], priority: int) -> int | None:
        """Return the group of the existing entry; None without a group."""
        row = self._network.table_get(self._switch, table.handle, keys, priority)
        return _handle(row) if row is not None and row[2] == _GROUP else None

    def _delete(self, table: TableLayout, keys: list[Key], priority: int) -> None:
        unused = self._set_of(table, keys, priority) if table.profile else None
        status = self._network.table_delete(self._switch, table.handle, keys, priority)
        if status:
            raise engine_refusal(status, f"table {table.name!r}")
        if unused is not None:
            self._profiles.delete_set(table.profile, unused)
        if self._notes:
            self._notes.pop(entry_key(table, keys, priority), None)

    def _write_direct(
        self,
        kind: int,
        table: TableLayout,
        entry: p4r.TableEntry,
        keys: list[Key],
        priority: int,
        rates: Rates | None,
    ) -> None:
        """Write the direct resources of an entry, already checked by the caller.

        A MODIFY without a meter_config resets the meter.
        """
        network, switch, handle = self._network, self._switch, table.handle
        if entry.HasField("counter_data"):
            data = entry.counter_data
            network.direct_counter_write(switch, handle, keys, priority, data.packet_count, data.byte_count)
        if table.meter is not None and (rates is not None or kind == _MODIFY):
            network.direct_meter_write(switch, handle, keys, priority, rates)
        if table.ageing:
            note = self._notes.get(entry_key(table, keys, priority)) if kind == _MODIFY else None
            if entry.idle_timeout_ns != (note[2] if note else 0):
                self._set_ttl(table, keys, priority, entry.idle_timeout_ns)

    def _set_ttl(self, table: TableLayout, keys: list[Key], priority: int, ttl_ns: int) -> None:
        """Set an entry's idle timeout, and restart its idle time."""
        ttl_ps = min(ttl_ns * _PS_A_NS, _LONGEST_PS)
        self._network.table_set_ttl(self._switch, table.handle, keys, priority, ttl_ps)

    def _write_default(self, kind: int, table: TableLayout, entry: p4r.TableEntry) -> None:
        what = f"table {table.name!r}"
        if kind != _MODIFY:
            raise Refusal(
                _INVALID, f"{what}: the default entry accepts MODIFY only, not {p4r.Update.Type.keys()[kind]}"
            )
        if entry.match or entry.priority:
            raise Refusal(
                _INVALID, f"{what}: the default entry takes neither match nor priority; leave them out"
            )
        if table.const_default or table.profile:
            raise Refusal(_DENIED, f"{what}: the default entry is constant, so it cannot be written")
        if entry.idle_timeout_ns or entry.HasField("time_since_last_hit"):
            raise Refusal(_INVALID, f"{what}: the default entry has no idle timeout")
        if check_direct(table, entry) is not None or entry.HasField("counter_data"):
            raise Refusal(rpc_code.UNIMPLEMENTED, f"{what}: v1model neither counts nor meters misses")
        which = entry.action.WhichOneof("type")
        if which is None:
            status = self._network.table_reset_default(self._switch, table.handle)
            self._own_default.discard(table.id)
        elif which != "action":
            raise Refusal(_INVALID, f"{what} has direct actions; give an action, not a member, group or set")
        else:
            sent = entry.action.action
            action = table.action(sent.action_id)
            if not action.for_default:
                raise Refusal(_DENIED, f"{what}: action {action.name!r} is not for the default entry")
            status = self._network.table_set_default(
                self._switch, table.handle, action.handle, action.decode(sent)
            )
            self._own_default.add(table.id)
        if status:
            raise engine_refusal(status, f"{what}, default entry")
        if which:
            self._remember((table.id, None, 0), entry)
        else:
            self._notes.pop((table.id, None, 0), None)

    def _remember(self, key: EntryKey, entry: p4r.TableEntry) -> None:
        note = (entry.metadata, entry.controller_metadata, entry.idle_timeout_ns)
        if any(note):
            self._notes[key] = note
        else:
            self._notes.pop(key, None)

    # -- reads

    def read(self, wanted: p4r.TableEntry) -> Iterator[p4r.Entity]:
        """Yield the entries matching a request's filters, with the requested direct resources."""
        tables = self.chosen(wanted.table_id)
        if not wanted.table_id and (wanted.match or wanted.priority or wanted.HasField("action")):
            raise Refusal(_INVALID, "a read of all tables (table id 0) takes no filter; give a table id")
        if wanted.HasField("meter_counter_data"):
            for table in tables:
                if table.meter is not None:
                    raise table.meter.refuse_color_counts()
        if wanted.table_id and not tables[0].ageing and wanted.HasField("time_since_last_hit"):
            raise Refusal(_INVALID, f"table {tables[0].name!r} has no idle timeout")
        for table in tables:
            if wanted.is_default_action:
                entry = self._default(table)
                if entry is not None and selected(entry, wanted):
                    yield p4r.Entity(table_entry=entry)
                continue
            for row in self.rows(table, wanted):
                entry = self._entry(table, row)
                if selected(entry, wanted):
                    self._add_direct(table, row, entry, wanted)
                    yield p4r.Entity(table_entry=entry)

    def rows(self, table: TableLayout, wanted: p4r.TableEntry) -> Sequence[Row]:
        """Return the entries with the match of a request; all entries for a request without a match."""
        network, switch = self._network, self._switch
        if wanted.match and (wanted.priority or not table.ordered):
            row = network.table_get(switch, table.handle, table.decode_match(wanted), wanted.priority)
            return [] if row is None else [row]
        rows = network.table_read(switch, table.handle)
        if wanted.match:
            key = entry_key(table, table.decode_match(wanted), 0)
            rows = [row for row in rows if entry_key(table, row[0], 0) == key]
        return rows

    def _entry(self, table: TableLayout, row: Row) -> p4r.TableEntry:
        keys, priority, action, values, _, _ = row
        entry = table.encode_key(keys, priority)
        entry.is_const = table.const
        if table.profile:
            pointed = self._profiles.pointed(table.profile, action == _GROUP, _handle(row))
            entry.action.CopyFrom(pointed)
        else:
            known = table.actions_by_handle.get(action)
            if known is not None:  # a program's own entry may run an action that the p4info does not name
                known.encode(entry.action.action, values)
        if self._notes:
            self._recall(entry, entry_key(table, keys, priority))
        return entry

    def _add_direct(
        self, table: TableLayout, row: Row, entry: p4r.TableEntry, wanted: p4r.TableEntry
    ) -> None:
        keys, priority, _, _, packets, octets = row
        if table.counter and wanted.HasField("counter_data"):
            entry.counter_data.packet_count, entry.counter_data.byte_count = packets, octets
        if table.meter is not None and wanted.HasField("meter_config"):
            rates = self._network.direct_meter_read(self._switch, table.handle, keys, priority)
            if rates is not None:
                entry.meter_config.CopyFrom(meter_config(rates))
        if table.ageing and wanted.HasField("time_since_last_hit"):
            idle_ps = self._network.table_idle(self._switch, table.handle, keys, priority)
            entry.time_since_last_hit.elapsed_ns = idle_ps // _PS_A_NS

    def _default(self, table: TableLayout) -> p4r.TableEntry | None:
        """Return the default entry; None if the p4info lacks its action, which the compiler has added."""
        entry = p4r.TableEntry(
            table_id=table.id, is_default_action=True, is_const=table.const_default or bool(table.profile)
        )
        if table.profile:
            if table.initial_default:
                entry.action.action.action_id = table.initial_default
            return entry
        action, values = self._network.table_default(self._switch, table.handle)
        if action is not None:
            if action not in table.actions_by_handle:
                return None
            table.actions_by_handle[action].encode(entry.action.action, values)
        self._recall(entry, (table.id, None, 0))
        return entry

    def _recall(self, entry: p4r.TableEntry, key: EntryKey) -> None:
        note = self._notes.get(key)
        if note is not None:
            entry.metadata, entry.controller_metadata, entry.idle_timeout_ns = note

    # -- whole states

    def before(self, entry: p4r.TableEntry) -> Iterator[p4r.Entity]:
        """Yield the present entry with the key of `entry`, if any, in a form that can be written back."""
        table = self.table(entry.table_id)
        if entry.is_default_action:
            yield p4r.Entity(table_entry=self._written_default(table))
        elif table.keys:
            keys, priority = table.decode_match(entry), table.decode_priority(entry)
            row = self._network.table_get(self._switch, table.handle, keys, priority)
            if row is not None:
                yield p4r.Entity(table_entry=self._whole(table, row))

    def everything(self) -> Iterator[p4r.Entity]:
        """Yield all entries and default entries writable by controllers."""
        for table in self._tables.values():
            for row in self._network.table_read(self._switch, table.handle):
                if not table.const or table.counter or table.meter:
                    yield p4r.Entity(table_entry=self._whole(table, row))
            if table.id in self._own_default:
                yield p4r.Entity(table_entry=self._written_default(table))

    def _whole(self, table: TableLayout, row: Row) -> p4r.TableEntry:
        entry = self._entry(table, row)
        wanted = p4r.TableEntry(counter_data=p4r.CounterData(), meter_config=p4r.MeterConfig())
        self._add_direct(table, row, entry, wanted)
        if table.const:
            entry.is_const = False
            entry.ClearField("action")
        return entry

    def _written_default(self, table: TableLayout) -> p4r.TableEntry:
        entry = self._default(table) if table.id in self._own_default else None
        if entry is None:
            return p4r.TableEntry(table_id=table.id, is_default_action=True)
        entry.is_const = False
        return entry

    def aged(self, handle: int) -> list[p4r.TableEntry]:
        """Return the entries with expired idle timeouts in the table `handle`, and restart their timeouts."""
        table = self._by_handle.get(handle)
        if table is None:
            return []
        entries = []
        for keys, priority in self._network.table_aged(self._switch, handle):
            entry = table.encode_key(keys, priority)
            self._recall(entry, entry_key(table, keys, priority))
            self._set_ttl(table, keys, priority, entry.idle_timeout_ns)
            entries.append(entry)
        return entries


def _handle(row: Row) -> int:
    """Return the id of the member or group to which an entry of an indirect table points."""
    return int.from_bytes(row[3][0], signed=True)
