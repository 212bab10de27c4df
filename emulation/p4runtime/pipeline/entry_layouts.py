# SPDX-License-Identifier: Apache-2.0
"""Layouts of the tables whose entries the engine reads directly from serialised messages.

`Tables.write` is the specification of a write. The engine carries out writes that need only a key, a priority
and an action. It leaves all other writes, and all that fail, to `Tables.write`.
"""

from collections.abc import Mapping

from emulation import _engine
from emulation.p4runtime.pipeline.layout import TableLayout

__all__ = ["entry_layouts"]


def entry_layouts(program: _engine.Program, tables: Mapping[int, TableLayout]) -> _engine.EntryLayouts:
    """Return the layouts of tables whose entries need only a key, a priority and a direct action."""
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
