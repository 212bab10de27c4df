# SPDX-License-Identifier: Apache-2.0
"""Reads and writes of one switch under one pipeline. Every method wants the engine's lock held."""

from collections.abc import Iterator, Mapping
from typing import final

from finsy.proto import p4d, p4r, rpc_code

from emulation import _engine
from emulation.p4runtime.layout import ActionLayout, Key, TableLayout, canonical, unsigned
from emulation.p4runtime.pipeline import ArrayLayout, Pipeline
from emulation.p4runtime.status import Refusal

__all__ = ["Target"]

_INVALID = rpc_code.INVALID_ARGUMENT
_INSERT, _MODIFY, _DELETE = p4r.Update.INSERT, p4r.Update.MODIFY, p4r.Update.DELETE

# What the engine answers to a table operation, by its status number; 0 is success.
_ENGINE_STATUS = {
    1: (rpc_code.ALREADY_EXISTS, "the entry exists"),
    2: (rpc_code.NOT_FOUND, "there is no such entry"),
    3: (rpc_code.RESOURCE_EXHAUSTED, "the table is full"),
    4: (rpc_code.INVALID_ARGUMENT, "the engine refused the entry"),
    5: (rpc_code.PERMISSION_DENIED, "the entry is constant"),
}

# Identifies an entry beside its table; None: the default entry.
_EntryKey = tuple[int, tuple[Key, ...] | None, int]


@final
class Target:
    """The forwarding state of one switch."""

    def __init__(self, network: _engine.Network, switch: int, pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        self._network = network
        self._switch = switch
        # Opaque values that only P4Runtime knows: (metadata, controller_metadata).
        self._opaque: dict[_EntryKey, tuple[bytes, int]] = {}

    # -- writes

    def write(self, update: p4r.Update) -> None:
        """Carry out one update, or raise a Refusal and change nothing."""
        kind, entity = update.type, update.entity
        if kind not in (_INSERT, _MODIFY, _DELETE):
            raise Refusal(_INVALID, f"update type {kind} is not INSERT, MODIFY or DELETE")
        which = entity.WhichOneof("entity")
        if which == "table_entry":
            self._write_table_entry(kind, entity.table_entry)
        elif which == "counter_entry":
            self._write_counter(kind, entity.counter_entry)
        elif which == "register_entry":
            self._write_register(kind, entity.register_entry)
        elif which is None:
            raise Refusal(_INVALID, "the update has no entity")
        else:
            raise Refusal(rpc_code.UNIMPLEMENTED, f"writing {which} is not supported")

    def _write_table_entry(self, kind: int, entry: p4r.TableEntry) -> None:
        table = self._table(entry.table_id)
        if entry.is_const:
            raise Refusal(_INVALID, f"table {table.name!r}: is_const must not be set in a write")
        if entry.is_default_action:
            self._write_default(kind, table, entry)
            return
        if table.const:
            raise Refusal(rpc_code.PERMISSION_DENIED, f"table {table.name!r} is constant")
        if not table.keys:
            raise Refusal(_INVALID, f"table {table.name!r} has no key, so it has only a default entry")
        keys = table.decode_match(entry)
        priority = table.decode_priority(entry)
        network, switch = self._network, self._switch
        if kind == _DELETE:
            status = network.table_delete(switch, table.handle, keys, priority)
            action = None
        else:
            _check_extras(table, entry)
            action, values = self._action(kind, table, entry, keys, priority)
            if not action.for_entries:
                raise Refusal(
                    rpc_code.PERMISSION_DENIED,
                    f"table {table.name!r}: action {action.name!r} is for the default entry",
                )
            operate = network.table_insert if kind == _INSERT else network.table_modify
            status = operate(switch, table.handle, keys, priority, action.handle, values)
        if status:
            code, reason = _ENGINE_STATUS[status]
            raise Refusal(code, f"table {table.name!r}: {reason}")
        if self._opaque or entry.metadata or entry.controller_metadata:
            self._remember(_entry_key(table, keys, priority), entry if action else None)

    def _action(
        self, kind: int, table: TableLayout, entry: p4r.TableEntry, keys: list[Key], priority: int
    ) -> tuple[ActionLayout, list[bytes]]:
        """The action an entry asks for; a MODIFY that names none keeps the one that is there."""
        which = entry.action.WhichOneof("type")
        if which == "action" and not table.indirect:
            sent = entry.action.action
            action = table.action(sent.action_id)
            return action, action.decode(sent)
        if which is not None or table.indirect:
            _refuse_indirect(table, which)
        if kind == _INSERT:
            raise Refusal(_INVALID, f"table {table.name!r}: an INSERT needs an action")
        present = self._network.table_get(self._switch, table.handle, keys, priority)
        if present is None:
            raise Refusal(rpc_code.NOT_FOUND, f"table {table.name!r}: there is no such entry")
        return table.actions_by_handle[present[2]], present[3]

    def _write_default(self, kind: int, table: TableLayout, entry: p4r.TableEntry) -> None:
        if kind != _MODIFY:
            raise Refusal(_INVALID, f"table {table.name!r}: the default entry can only be modified")
        if entry.match or entry.priority:
            raise Refusal(_INVALID, f"table {table.name!r}: the default entry has no match and no priority")
        if table.const_default:
            raise Refusal(rpc_code.PERMISSION_DENIED, f"table {table.name!r}: the default entry is constant")
        _check_extras(table, entry)
        which = entry.action.WhichOneof("type")
        if which is None:
            status = self._network.table_reset_default(self._switch, table.handle)
        else:
            if which != "action" or table.indirect:
                _refuse_indirect(table, which)
            sent = entry.action.action
            action = table.action(sent.action_id)
            if not action.for_default:
                raise Refusal(
                    rpc_code.PERMISSION_DENIED,
                    f"table {table.name!r}: action {action.name!r} is not for the default entry",
                )
            status = self._network.table_set_default(
                self._switch, table.handle, action.handle, action.decode(sent)
            )
        if status:
            code, reason = _ENGINE_STATUS[status]
            raise Refusal(code, f"table {table.name!r}, default entry: {reason}")
        self._remember((table.id, None, 0), entry if which else None)

    def _remember(self, key: _EntryKey, entry: p4r.TableEntry | None) -> None:
        if entry is not None and (entry.metadata or entry.controller_metadata):
            self._opaque[key] = (entry.metadata, entry.controller_metadata)
        else:
            self._opaque.pop(key, None)

    def _write_counter(self, kind: int, entry: p4r.CounterEntry) -> None:
        counter = _array("counter", self.pipeline.counters, entry.counter_id)
        if kind != _MODIFY:
            raise Refusal(_INVALID, f"counter {counter.name!r} can only be modified")
        if not entry.HasField("data"):
            return
        data = entry.data
        if data.packet_count < 0 or data.byte_count < 0:
            raise Refusal(_INVALID, f"counter {counter.name!r}: a count below 0")
        for index in _indices(counter, entry):
            self._network.counter_write(
                self._switch, counter.handle, index, data.packet_count, data.byte_count
            )

    def _write_register(self, kind: int, entry: p4r.RegisterEntry) -> None:
        register = _register(self.pipeline, entry.register_id)
        if kind != _MODIFY:
            raise Refusal(_INVALID, f"register {register.name!r} can only be modified")
        if entry.data.WhichOneof("data") != "bitstring":
            raise Refusal(_INVALID, f"register {register.name!r}: the data must be a bitstring")
        value = int.from_bytes(unsigned(entry.data.bitstring, register.bits, f"register {register.name!r}"))
        for index in _indices(register, entry):
            self._network.register_write(self._switch, register.handle, index, value)

    # -- reads

    def read(self, entity: p4r.Entity) -> Iterator[p4r.Entity]:
        """Every entity that one request of a Read selects."""
        which = entity.WhichOneof("entity")
        if which is None:
            raise Refusal(_INVALID, "the request has no entity")
        match which:
            case "table_entry":
                return self._read_table_entries(entity.table_entry)
            case "counter_entry":
                return self._read_counters(entity.counter_entry)
            case "direct_counter_entry":
                return self._read_direct_counters(entity.direct_counter_entry.table_entry)
            case "register_entry":
                return self._read_registers(entity.register_entry)
        raise Refusal(rpc_code.UNIMPLEMENTED, f"reading {which} is not supported")

    def _read_table_entries(self, wanted: p4r.TableEntry) -> Iterator[p4r.Entity]:
        if wanted.table_id:
            tables = [self._table(wanted.table_id)]
        else:
            tables = list(self.pipeline.tables.values())
            if wanted.match or wanted.priority or wanted.HasField("action"):
                raise Refusal(_INVALID, "with table id 0 no filter can be used")
        for table in tables:
            entries = self._default(table) if wanted.is_default_action else self._entries(table, wanted)
            for entry, packets, octets in entries:
                if not _selected(entry, wanted):
                    continue
                if wanted.HasField("counter_data") and table.direct_counter:
                    entry.counter_data.packet_count, entry.counter_data.byte_count = packets, octets
                yield p4r.Entity(table_entry=entry)

    def _entries(
        self, table: TableLayout, wanted: p4r.TableEntry
    ) -> Iterator[tuple[p4r.TableEntry, int, int]]:
        network, switch = self._network, self._switch
        if wanted.match and (wanted.priority or not table.ordered):
            keys = table.decode_match(wanted)
            found = network.table_get(switch, table.handle, keys, wanted.priority)
            rows = [] if found is None else [found]
        else:
            rows = network.table_read(switch, table.handle)
            if wanted.match:
                key = _entry_key(table, table.decode_match(wanted), 0)
                rows = [row for row in rows if _entry_key(table, row[0], 0) == key]
        for keys, priority, action, values, packets, octets in rows:
            entry = table.encode(keys, priority, action, values)
            if self._opaque:
                self._recall(entry, _entry_key(table, keys, priority))
            yield entry, packets, octets

    def _default(self, table: TableLayout) -> Iterator[tuple[p4r.TableEntry, int, int]]:
        action, values = self._network.table_default(self._switch, table.handle)
        if action is not None and action not in table.actions_by_handle:
            return  # an action that the compiler made and the p4info does not name
        entry = p4r.TableEntry(table_id=table.id, is_default_action=True, is_const=table.const_default)
        if action is not None:
            table.actions_by_handle[action].encode(entry.action.action, values)
        self._recall(entry, (table.id, None, 0))
        yield entry, 0, 0

    def _recall(self, entry: p4r.TableEntry, key: _EntryKey) -> None:
        entry.metadata, entry.controller_metadata = self._opaque.get(key, (b"", 0))

    def _read_counters(self, wanted: p4r.CounterEntry) -> Iterator[p4r.Entity]:
        counters = self.pipeline.counters
        if not wanted.counter_id and wanted.HasField("index"):
            raise Refusal(_INVALID, "an index without a counter id")
        chosen = (
            [_array("counter", counters, wanted.counter_id)] if wanted.counter_id else list(counters.values())
        )
        for counter in chosen:
            if wanted.HasField("index"):
                (index,) = _indices(counter, wanted)
                values = {index: self._network.counter_read(self._switch, counter.handle, index)}
            else:
                values = dict(enumerate(self._network.counter_read_all(self._switch, counter.handle)))
            for index, (packets, octets) in values.items():
                data = p4r.CounterData(packet_count=packets, byte_count=octets)
                entry = p4r.CounterEntry(counter_id=counter.id, index=p4r.Index(index=index), data=data)
                yield p4r.Entity(counter_entry=entry)

    def _read_direct_counters(self, wanted: p4r.TableEntry) -> Iterator[p4r.Entity]:
        tables = [self._table(wanted.table_id)] if wanted.table_id else list(self.pipeline.tables.values())
        for table in tables:
            if not table.direct_counter:
                if wanted.table_id:
                    raise Refusal(_INVALID, f"table {table.name!r} has no direct counter")
                continue
            found = False
            for entry, packets, octets in self._entries(table, wanted):
                found = True
                entry.ClearField("action")
                data = p4r.CounterData(packet_count=packets, byte_count=octets)
                yield p4r.Entity(direct_counter_entry=p4r.DirectCounterEntry(table_entry=entry, data=data))
            if wanted.match and not found:
                raise Refusal(rpc_code.NOT_FOUND, f"table {table.name!r}: there is no such entry")

    def _read_registers(self, wanted: p4r.RegisterEntry) -> Iterator[p4r.Entity]:
        registers = self.pipeline.registers
        if not wanted.register_id and wanted.HasField("index"):
            raise Refusal(_INVALID, "an index without a register id")
        for register_id in [wanted.register_id] if wanted.register_id else list(registers):
            register = _register(self.pipeline, register_id)
            for index in _indices(register, wanted):
                value = self._network.register_read(self._switch, register.handle, index)
                entry = p4r.RegisterEntry(
                    register_id=register.id,
                    index=p4r.Index(index=index),
                    data=p4d.P4Data(bitstring=value.to_bytes((value.bit_length() + 7) // 8 or 1)),
                )
                yield p4r.Entity(register_entry=entry)

    def _table(self, table_id: int) -> TableLayout:
        table = self.pipeline.tables.get(table_id)
        if table is None:
            raise Refusal(_INVALID, f"no table with id {table_id}")
        return table


def _check_extras(table: TableLayout, entry: p4r.TableEntry) -> None:
    """Refuse what an entry carries beside match and action: the table lacks it, or the engine does."""
    if entry.idle_timeout_ns or entry.HasField("time_since_last_hit"):
        if not table.idle_timeout or entry.is_default_action:
            raise Refusal(_INVALID, f"table {table.name!r} has no idle timeout")
        raise Refusal(rpc_code.UNIMPLEMENTED, f"table {table.name!r}: idle timeouts are not supported")
    if entry.HasField("meter_config") or entry.HasField("meter_counter_data"):
        raise Refusal(rpc_code.UNIMPLEMENTED, f"table {table.name!r}: direct meters are not supported")
    if entry.HasField("counter_data"):
        if not table.direct_counter:
            raise Refusal(_INVALID, f"table {table.name!r} has no direct counter")
        raise Refusal(
            rpc_code.UNIMPLEMENTED, f"table {table.name!r}: setting a direct counter is not supported"
        )


def _refuse_indirect(table: TableLayout, sent: str | None) -> None:
    if table.indirect and sent != "action":
        raise Refusal(rpc_code.UNIMPLEMENTED, f"table {table.name!r}: action profiles are not supported")
    implemented = "an action profile" if table.indirect else "direct actions"
    raise Refusal(_INVALID, f"table {table.name!r} has {implemented}; {sent} does not fit")


def _entry_key(table: TableLayout, keys: list[Key], priority: int) -> _EntryKey:
    plain = tuple(
        (canonical(value), canonical(extra) if extra else b"", prefix) for value, extra, prefix in keys
    )
    return (table.id, plain, priority)


def _selected(entry: p4r.TableEntry, wanted: p4r.TableEntry) -> bool:
    """The filters of a read that a search by key does not cover."""
    return (
        (not wanted.priority or entry.priority == wanted.priority)
        and (not wanted.HasField("action") or entry.action.action.action_id == wanted.action.action.action_id)
        and (not wanted.metadata or entry.metadata == wanted.metadata)
        and (not wanted.controller_metadata or entry.controller_metadata == wanted.controller_metadata)
    )


def _array(kind: str, among: Mapping[int, ArrayLayout], array_id: int) -> ArrayLayout:
    found = among.get(array_id)
    if found is None:
        raise Refusal(_INVALID, f"no {kind} with id {array_id}")
    return found


def _register(pipeline: Pipeline, register_id: int) -> ArrayLayout:
    register = _array("register", pipeline.registers, register_id)
    if not register.bits:
        raise Refusal(rpc_code.UNIMPLEMENTED, f"register {register.name!r} does not hold plain numbers")
    return register


def _indices(array: ArrayLayout, entry: p4r.CounterEntry | p4r.RegisterEntry) -> range:
    """The one index an entry names, or all of them."""
    if not entry.HasField("index"):
        return range(array.size)
    index = entry.index.index
    if index < 0:
        raise Refusal(_INVALID, f"{array.name!r}: index {index} is below 0")
    if index >= array.size:
        raise Refusal(
            rpc_code.OUT_OF_RANGE, f"{array.name!r}: index {index} is not below its size {array.size}"
        )
    return range(index, index + 1)
