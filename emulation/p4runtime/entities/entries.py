# SPDX-License-Identifier: Apache-2.0
"""Table entries apart from any switch: what tells one from another, what it may carry, what selects it."""

from collections.abc import Sequence

from finsy.proto import p4r, rpc_code

from emulation.p4runtime.pipeline.layout import Rates, TableLayout
from emulation.p4runtime.pipeline.match import Key
from emulation.p4runtime.pipeline.values import canonical
from emulation.p4runtime.status import Refusal

__all__ = ["EntryKey", "check_constant", "check_direct", "entry_key", "selected"]

_INVALID = rpc_code.INVALID_ARGUMENT

EntryKey = tuple[int, tuple[Key, ...] | None, int]
"""Identifies an entry beside its table; None: the default entry."""


def check_constant(kind: int, table: TableLayout, entry: p4r.TableEntry) -> None:
    """Of a constant entry only the direct resources can be modified."""
    noted = entry.metadata or entry.controller_metadata or entry.idle_timeout_ns
    if kind != p4r.Update.MODIFY or entry.HasField("action") or noted:
        raise Refusal(rpc_code.PERMISSION_DENIED, f"table {table.name!r} is constant")


def check_direct(table: TableLayout, entry: p4r.TableEntry) -> Rates | None:
    """Refuse what the table lacks or the engine does; the rates of a meter_config."""
    if entry.idle_timeout_ns or entry.HasField("time_since_last_hit"):
        if not table.ageing:
            raise Refusal(_INVALID, f"table {table.name!r} has no idle timeout")
        if entry.idle_timeout_ns < 0 or entry.HasField("time_since_last_hit"):
            raise Refusal(_INVALID, f"table {table.name!r}: time_since_last_hit, or a timeout below 0")
    if entry.HasField("counter_data"):
        if not table.counter:
            raise Refusal(_INVALID, f"table {table.name!r} has no direct counter")
        if entry.counter_data.packet_count < 0 or entry.counter_data.byte_count < 0:
            raise Refusal(_INVALID, f"table {table.name!r}: a count below 0")
    if entry.HasField("meter_config") or entry.HasField("meter_counter_data"):
        if table.meter is None:
            raise Refusal(_INVALID, f"table {table.name!r} has no direct meter")
        if entry.HasField("meter_counter_data"):
            raise table.meter.refuse_color_counts()
        return table.meter.rates(entry.meter_config)
    return None


def entry_key(table: TableLayout, keys: Sequence[Key], priority: int) -> EntryKey:
    """Whatever the length of its bytestrings, and whatever number an entry has where none is needed."""
    plain = tuple(
        (canonical(value), canonical(extra) if extra else b"", prefix) for value, extra, prefix in keys
    )
    return (table.id, plain, priority if table.ordered else 0)


def selected(entry: p4r.TableEntry, wanted: p4r.TableEntry) -> bool:
    """The filters of a read that a search by key does not cover."""
    return (
        (not wanted.priority or entry.priority == wanted.priority)
        and (not wanted.HasField("action") or _same_action(entry.action, wanted.action))
        and (not wanted.metadata or entry.metadata == wanted.metadata)
        and (not wanted.controller_metadata or entry.controller_metadata == wanted.controller_metadata)
    )


def _same_action(action: p4r.TableAction, wanted: p4r.TableAction) -> bool:
    """Direct actions by their id alone; what an indirect entry points to, whole."""
    if action.WhichOneof("type") == "action":
        return action.action.action_id == wanted.action.action_id
    return action == wanted
