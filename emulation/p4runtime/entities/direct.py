# SPDX-License-Identifier: Apache-2.0
"""Direct counters and direct meters of one switch, addressed as entities of their own."""

from collections.abc import Iterator
from typing import final

from finsy.proto import p4r, rpc_code

from emulation import _engine
from emulation.p4runtime.entities.tables import Row, Tables
from emulation.p4runtime.pipeline.layout import MeterLayout, TableLayout, meter_config
from emulation.p4runtime.pipeline.match import Key
from emulation.p4runtime.status import Refusal, engine_refusal

__all__ = ["DirectCounters", "DirectMeters"]

_INVALID = rpc_code.INVALID_ARGUMENT


def _addressed(tables: Tables, kind: int, entry: p4r.TableEntry) -> tuple[TableLayout, list[Key], int]:
    """Return the table, key and priority of the entry named in a write."""
    table = tables.table(entry.table_id)
    if kind != p4r.Update.MODIFY:
        raise Refusal(
            _INVALID,
            f"table {table.name!r}: direct counters and meters accept MODIFY only, "
            f"not {p4r.Update.Type.keys()[kind]}",
        )
    if entry.is_default_action or not table.keys:
        raise Refusal(
            rpc_code.UNIMPLEMENTED, f"table {table.name!r}: v1model neither counts nor meters misses"
        )
    return table, table.decode_match(entry), table.decode_priority(entry)


def _selected(
    tables: Tables, table: TableLayout, wanted: p4r.TableEntry
) -> Iterator[tuple[p4r.TableEntry, Row]]:
    """Yield the key of each entry selected by a read, and the entry's row in the engine.

    NOT_FOUND if the read gives a match key that no entry has.
    """
    absent = bool(wanted.match)
    for row in tables.rows(table, wanted):
        if wanted.priority in (0, row[1]):
            absent = False
            yield table.encode_key(row[0], row[1]), row
    if absent:
        raise Refusal(
            rpc_code.NOT_FOUND, f"table {table.name!r} has no entry with the match key of the request"
        )


@final
class DirectCounters:
    """P4Runtime writes and reads of direct counters, by table entry. Callers hold the engine's lock."""

    def __init__(self, network: _engine.SwitchSet, switch: int, tables: Tables) -> None:
        self._network = network
        self._switch = switch
        self._tables = tables

    def write(self, kind: int, entry: p4r.DirectCounterEntry) -> None:
        """Carry out a MODIFY, which sets the counts; without data it changes nothing."""
        table, keys, priority = _addressed(self._tables, kind, entry.table_entry)
        if not table.counter:
            raise Refusal(_INVALID, f"table {table.name!r} has no direct counter")
        data = entry.data
        if data.packet_count < 0 or data.byte_count < 0:
            raise Refusal(
                _INVALID,
                f"table {table.name!r}: packet_count {data.packet_count} or byte_count {data.byte_count} "
                "is below 0",
            )
        if not entry.HasField("data"):
            row = self._network.table_get(self._switch, table.handle, keys, priority)
            status = 2 if row is None else 0
        else:
            status = self._network.direct_counter_write(
                self._switch, table.handle, keys, priority, data.packet_count, data.byte_count
            )
        if status:
            raise engine_refusal(status, f"table {table.name!r}")

    def read(self, wanted: p4r.DirectCounterEntry) -> Iterator[p4r.Entity]:
        """Yield the counters of one entry, of a table's entries, or of all tables."""
        entry = wanted.table_entry
        for table in self._tables.chosen(entry.table_id):
            if not table.counter:
                if entry.table_id:
                    raise Refusal(_INVALID, f"table {table.name!r} has no direct counter")
                continue
            for key, row in _selected(self._tables, table, entry):
                data = p4r.CounterData(packet_count=row[4], byte_count=row[5])
                counter = p4r.DirectCounterEntry(table_entry=key, data=data)
                yield p4r.Entity(direct_counter_entry=counter)


@final
class DirectMeters:
    """P4Runtime writes and reads of direct meters, by table entry. Callers hold the engine's lock."""

    def __init__(self, network: _engine.SwitchSet, switch: int, tables: Tables) -> None:
        self._network = network
        self._switch = switch
        self._tables = tables

    def write(self, kind: int, entry: p4r.DirectMeterEntry) -> None:
        """Carry out a MODIFY, which sets the rates; without a config every packet is green."""
        table, keys, priority = _addressed(self._tables, kind, entry.table_entry)
        meter = _meter(table)
        if entry.HasField("counter_data"):
            raise meter.refuse_color_counts()
        rates = meter.rates(entry.config) if entry.HasField("config") else None
        status = self._network.direct_meter_write(self._switch, table.handle, keys, priority, rates)
        if status:
            raise engine_refusal(status, f"table {table.name!r}")

    def read(self, wanted: p4r.DirectMeterEntry) -> Iterator[p4r.Entity]:
        """Yield the meters of one entry, of a table's entries, or of all tables."""
        entry = wanted.table_entry
        for table in self._tables.chosen(entry.table_id):
            if table.meter is None and not entry.table_id:
                continue
            if wanted.HasField("counter_data"):
                raise _meter(table).refuse_color_counts()
            _meter(table)
            for key, row in _selected(self._tables, table, entry):
                rates = self._network.direct_meter_read(self._switch, table.handle, row[0], row[1])
                config = None if rates is None else meter_config(rates)
                meter = p4r.DirectMeterEntry(table_entry=key, config=config)
                yield p4r.Entity(direct_meter_entry=meter)


def _meter(table: TableLayout) -> MeterLayout:
    if table.meter is None:
        raise Refusal(_INVALID, f"table {table.name!r} has no direct meter")
    return table.meter
