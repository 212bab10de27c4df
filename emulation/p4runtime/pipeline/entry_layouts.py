# SPDX-License-Identifier: Apache-2.0
"""The tables whose entries the engine reads from serialised messages by itself.

`Tables.write` is the specification of a write. The engine carries out writes that need nothing but a key, a
priority and an action, and leaves all others, and all that fail, to `Tables.write`.
"""

from collections.abc import Mapping

from emulation import _engine
from emulation.p4runtime.pipeline.layout import TableLayout

__all__ = ["entry_layouts"]


def entry_layouts(program: _engine.Program, tables: Mapping[int, TableLayout]) -> _engine.EntryLayouts:
    """Return the layouts of the tables with entries that a controller writes and that have an action only."""
    return _engine.EntryLayouts(program, [_layout(table) for table in tables.values() if _is_plain(table)])


def _is_plain(table: TableLayout) -> bool:
    if not table.keys or table.const or table.profile or table.meter or table.ageing:
        return False
    parameters = (parameter for action in table.actions.values() for parameter in action.parameters)
    return not any(field.strings for field in (*table.keys, *parameters))


def _layout(table: TableLayout) -> "_engine.EntryLayout":
    fields = [(key.id, key.match, key.masked) for key in table.keys]
    actions = [
        (action.id, action.handle, [(parameter.id, parameter.bits) for parameter in action.parameters])
        for action in table.actions.values()
        if action.for_entries
    ]
    return (table.id, table.handle, fields, actions)
