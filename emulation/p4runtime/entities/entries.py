# SPDX-License-Identifier: Apache-2.0
"""Table entries independent of any switch: their identity, their checks, the filters that select them."""

from collections.abc import Sequence

from finsy.proto import p4r, rpc_code

from emulation.p4runtime.pipeline.layout import Rates, TableLayout
from emulation.p4runtime.pipeline.match import Key
from emulation.p4runtime.pipeline.values import canonical
from emulation.p4runtime.status import Refusal

__all__ = ["EntryKey", "check_constant", "check_direct", "entry_key", "selected"]

_INVALID = rpc_code.INVALID_ARGUMENT

EntryKey = tuple[int, tuple[Key, ...] | None, int]
"""Table id, key and priority of an entry; the key of a default entry is None."""


def check_constant(kind: int, table: TableLayout, entry: p4r.TableEntry) -> None:
    """Refuse any write to a constant entry but a MODIFY of its direct resources."""
    noted = entry.metadata or entry.controller_metadata or entry.idle_timeout_ns
    if kind != p4r.Update.MODIFY or entry.HasField("action") or noted:
        raise Refusal(
            rpc_code.PERMISSION_DENIED, f"table {table.name!r} is constant, so its entries cannot be written"
        )


def check_direct(table: TableLayout, entry: p4r.TableEntry) -> Rates | None:
    """Return the rates in an entry's meter_config, if any; check its idle timeout, counter and meter data."""
    if entry.idle_timeout_ns or entry.HasField("time_since_last_hit"):
        if not table.ageing:
            raise Refusal(_INVALID, f"table {table.name!r} has no idle timeout")
        if entry.idle_timeout_ns < 0 or entry.HasField("time_since_last_hit"):
            raise Refusal(
                _INVALID,
                f"table {table.name!r}: idle_timeout_ns is {entry.idle_timeout_ns}, which must be 0 or more, "
                "and time_since_last_hit must not be set in a write",
            )
    if entry.HasField("counter_data"):
        if not table.counter:
            raise Refusal(_INVALID, f"table {table.name!r} has no direct counter")
        if entry.counter_data.packet_count < 0 or entry.counter_data.byte_count < 0:
            raise Refusal(
                _INVALID,
                f"table {table.name!r}: packet_count {entry.counter_data.packet_count} or byte_count "
                f"{entry.counter_data.byte_count} is below 0",
            )
    if entry.HasField("meter_config") or entry.HasField("meter_counter_data"):
        if table.meter is None:
            raise Refusal(_INVALID, f"table {table.name!r} has no direct meter")
        if entry.HasField("meter_counter_data"):
            raise table.meter.refuse_color_counts()
        return table.meter.rates(entry.meter_config)
    return None


def entry_key(table: TableLayout, keys: Sequence[Key], priority: int) -> EntryKey:
    """Return the identity of an entry: canonical bytestrings, priority 0 in a table without priorities."""
    plain = tuple(
        (canonical(value), canonical(extra) if extra else b"", prefix) for value, extra, prefix in keys
    )
    return (table.id, plain, priority if table.ordered else 0)


def selected(entry: p4r.TableEntry, wanted: p4r.TableEntry) -> bool:
    """Return whether an entry passes the filters of a read other than its match."""
    return (
        (not wanted.priority or entry.priority == wanted.priority)
        and (not wanted.HasField("action") or _same_action(entry.action, wanted.action))
        and (not wanted.metadata or entry.metadata == wanted.metadata)
        and (not wanted.controller_metadata or entry.controller_metadata == wanted.controller_metadata)
    )


def _same_action(action: p4r.TableAction, wanted: p4r.TableAction) -> bool:
    """Compare direct actions by id; compare members, groups and action sets whole."""
    if action.WhichOneof("type") == "action":
        return action.action.action_id == wanted.action.action_id
    return action == wanted
