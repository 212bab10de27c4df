# SPDX-License-Identifier: Apache-2.0
"""The state of one switch under one pipeline: reads and writes by kind of entity."""

from collections.abc import Callable, Iterable, Iterator, Set
from typing import Any, NamedTuple, final

from finsy.proto import p4r, rpc_code

from emulation import _engine
from emulation.p4runtime.clock import Clock
from emulation.p4runtime.entities.arrays import Counters, Meters, Registers
from emulation.p4runtime.entities.digests import Digests, Publish
from emulation.p4runtime.entities.direct import DirectCounters, DirectMeters
from emulation.p4runtime.entities.profiles import Profiles
from emulation.p4runtime.entities.replication import Replication
from emulation.p4runtime.entities.tables import Tables
from emulation.p4runtime.entities.value_sets import ValueSets
from emulation.p4runtime.pipeline.pipelines import Pipeline
from emulation.p4runtime.status import Refusal

__all__ = ["Target"]

_INVALID = rpc_code.INVALID_ARGUMENT
_INSERT, _MODIFY, _DELETE = p4r.Update.INSERT, p4r.Update.MODIFY, p4r.Update.DELETE
_Entities = Iterable[p4r.Entity]
_DIRECT = ("direct_counter_entry", "direct_meter_entry")  # read with their table entries
_ARRAYS = {
    "counter_entry": p4r.CounterEntry,
    "meter_entry": p4r.MeterEntry,
    "register_entry": p4r.RegisterEntry,
    "value_set_entry": p4r.ValueSetEntry,
}


class _Kind(NamedTuple):
    """Functions for a kind of entity: write, read, and read the state that a write would replace."""

    write: Callable[[int, Any], None]
    read: Callable[[Any], _Entities]
    before: Callable[[Any], _Entities]


@final
class Target:
    """State of a switch under one pipeline: reads and writes of all P4Runtime entities.

    `down` are the ports that are down; `publish` sends a notification to controllers. Callers hold the
    engine's lock.
    """

    def __init__(
        self,
        network: _engine.SwitchSet,
        switch: int,
        pipeline: Pipeline,
        *,
        down: Set[int],
        clock: Clock,
        publish: Publish,
    ) -> None:
        self.pipeline = pipeline
        self.digests = Digests(pipeline, clock, publish)
        self._profiles = Profiles(network, switch, pipeline, down)
        self._replication = Replication(network, switch, down)
        self._tables = tables = Tables(network, switch, pipeline, self._profiles)
        self._clock = clock
        self._publish = publish
        self._counters = counters = Counters(network, switch, pipeline)
        meters = Meters(network, switch, pipeline)
        registers = Registers(network, switch, pipeline)
        value_sets = ValueSets(network, switch, pipeline)
        direct_counters = DirectCounters(network, switch, tables)
        direct_meters = DirectMeters(network, switch, tables)
        profiles, replication, digests = self._profiles, self._replication, self.digests
        # In the order in which `everything` can be written again: members and groups before table entries.
        self._kinds = {
            "action_profile_member": _kind(profiles.write_member, profiles.read_members),
            "action_profile_group": _kind(profiles.write_group, profiles.read_groups),
            "table_entry": _Kind(tables.write, tables.read, tables.before),
            "direct_counter_entry": _kind(direct_counters.write, direct_counters.read),
            "direct_meter_entry": _kind(direct_meters.write, direct_meters.read),
            "counter_entry": _kind(counters.write, counters.read),
            "meter_entry": _kind(meters.write, meters.read),
            "register_entry": _kind(registers.write, registers.read),
            "value_set_entry": _kind(value_sets.write, value_sets.read),
            "packet_replication_engine_entry": _kind(replication.write, replication.read),
            "digest_entry": _kind(digests.write, digests.read),
        }

    # -- entities

    def _kind(self, entity: p4r.Entity) -> tuple[_Kind, Any]:
        which = entity.WhichOneof("entity")
        if which is None:
            raise Refusal(_INVALID, "the entity is empty; set one of its fields, such as table_entry")
        kind = self._kinds.get(which)
        if kind is None:
            raise Refusal(rpc_code.UNIMPLEMENTED, f"{which} is not supported")
        return kind, getattr(entity, which)

    def write(self, update: p4r.Update) -> None:
        """Carry out one update, or raise a Refusal and change nothing."""
        type, entity = update.type, update.entity
        if type not in (_INSERT, _MODIFY, _DELETE):
            raise Refusal(_INVALID, f"update type {type} is not INSERT, MODIFY or DELETE")
        if entity.HasField("table_entry"):  # fast path of the most frequent kind
            self._tables.write(type, entity.table_entry)
        else:
            kind, message = self._kind(entity)
            kind.write(type, message)

    def reads_all(self, updates: _engine.EntryUpdates) -> bool:
        """Return whether the engine can read all updates, even if it cannot carry them out."""
        return updates.plain(self.pipeline.entry_layouts)

    def write_serialised(self, updates: _engine.EntryUpdates) -> None:
        """Carry out updates of table entries, stopping before the first one that needs write()."""
        self._tables.write_serialised(updates)

    def inverse(self, update: p4r.Update) -> list[p4r.Update]:
        """Return the updates for undoing `update`; call it before write()."""
        kind, message = self._kind(update.entity)
        if update.type == _INSERT:
            return [p4r.Update(type=_DELETE, entity=update.entity)]
        back = _INSERT if update.type == _DELETE else _MODIFY
        return [p4r.Update(type=back, entity=entity) for entity in kind.before(message)]

    def read(self, entity: p4r.Entity) -> list[p4r.Entity]:
        """Return the entities selected by `entity` of a ReadRequest; its unset fields are wildcards."""
        kind, message = self._kind(entity)
        return list(kind.read(message))

    def counter_responses(self, wanted: p4r.CounterEntry, most: int) -> list[bytes] | None:
        """Return serialised ReadResponses with all cells of one counter, at most `most` cells in each.

        None if `wanted` asks for a single cell, or does not name one counter of the program.
        """
        return self._counters.responses(wanted, most)

    def everything(self) -> Iterator[p4r.Entity]:
        """Yield all state writable by controllers, in a valid order for writing it again."""
        for which, kind in self._kinds.items():
            if which == "table_entry":
                yield from self._tables.everything()
            elif which in _ARRAYS:
                yield from (entity for entity in kind.read(_ARRAYS[which]()) if _is_set(entity))
            elif which not in _DIRECT:
                yield from kind.read(getattr(p4r.Entity(), which))

    def holds(self, entry: p4r.TableEntry) -> bool:
        """Return whether the table has an entry with this key."""
        return any(self._tables.before(entry))

    # -- events from the engine

    def idle(self, handle: int) -> None:
        """Notify controllers of entries with expired idle timeouts in the table `handle`."""
        entries = self._tables.aged(handle)
        if entries:
            notice = p4r.IdleTimeoutNotification(table_entry=entries, timestamp=self._clock.timestamp_ns())
            message = p4r.StreamMessageResponse(idle_timeout_notification=notice)
            self._publish(entries[0].table_id, message)

    def port_changed(self, port: int) -> None:
        """Apply a change of a port's state to selectors and replicas."""
        self._profiles.port_changed(port)
        self._replication.port_changed(port)


def _kind(write: Callable[[int, Any], None], read: Callable[[Any], Iterator[p4r.Entity]]) -> _Kind:
    """Return a kind with `read` as its `before`: a read yields the state before a write."""
    return _Kind(write, read, read)


def _is_set(entity: p4r.Entity) -> bool:
    """Return whether a cell of an array, or a value set, differs from its initial state."""
    match entity.WhichOneof("entity"):
        case "counter_entry":
            data = entity.counter_entry.data
            return bool(data.packet_count or data.byte_count)
        case "meter_entry":
            return entity.meter_entry.HasField("config")
        case "value_set_entry":
            return bool(entity.value_set_entry.members)
        case _:
            data = entity.register_entry.data
            return any(data.bitstring or data.enum_value)
