# SPDX-License-Identifier: Apache-2.0
"""Tables that only some of the P4 programs have, by the name of a node's program."""

from topologies import Node

__all__ = ["has_table"]

_TABLES = {
    "rail_gpu": frozenset({"pxn"}),
    "rail_switch": frozenset({"rail", "multipath"}),
}


def has_table(node: Node, table: str) -> bool:
    """Whether a node's program has a table beside those that all have."""
    return table in _TABLES.get(node.program, ())
