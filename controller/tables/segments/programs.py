# SPDX-License-Identifier: Apache-2.0
"""Tables that only some of the P4 programs have."""

from topologies import Node

__all__ = ["has_table"]

_TABLES = {
    "rail_gpu": frozenset({"pxn"}),
    "rail_switch": frozenset({"rail", "multipath"}),
}


def has_table(node: Node, table: str) -> bool:
    """Return whether a node's program has an optional table."""
    return table in _TABLES.get(node.program, ())
