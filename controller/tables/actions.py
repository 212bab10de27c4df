# SPDX-License-Identifier: Apache-2.0
"""Actions of the P4 programs that a plan calls, each declared once: its table, name, parameters and meaning.

Whoever makes a row or reads one takes the action from here, so that a wrong name fails when the plan is made.
A test holds the declarations against the p4info of every compiled program.
"""

from dataclasses import dataclass
from typing import final

from controller.errors import PlanError
from controller.plan.entry import Entry, Match, Params

__all__ = [
    "ARRIVE",
    "DEPART",
    "FOREIGN_RAIL",
    "FROM_CHILD",
    "FROM_PARENT",
    "MARK_FROM",
    "NO_PXN",
    "PUSH_ROUTE",
    "SET_GROUP",
    "SET_NEIGHBOUR",
    "SET_PORT",
    "SET_RAIL",
    "SET_RANKS",
    "SET_SEGMENT",
    "SET_TREE",
    "SET_TREE_NEIGHBOUR",
    "SET_VL",
    "SET_EGRESS_PORT",
    "Action",
]

Key = tuple[tuple[str, Match], ...]


@final
@dataclass(frozen=True, slots=True)
class Action:
    """An action of one table; `params` are the names of its parameters in their order."""

    table: str
    name: str
    params: tuple[str, ...] = ()

    def call(self, *values: int) -> Params:
        """Return the parameters of a call by name; PlanError if their number is wrong."""
        if len(values) != len(self.params):
            raise PlanError(
                f"action {self.name} takes {len(self.params)} parameters, got {len(values)}",
                remedy=f"give {', '.join(self.params) or 'none'}",
            )
        return tuple(zip(self.params, values, strict=True))

    def entry(self, match: Key, *values: int, priority: int = 0) -> Entry:
        """Return a row of the table that calls the action with these values."""
        return Entry(self.table, match, self.name, self.call(*values), priority)

    def group(self, match: Key, *members: int) -> Entry:
        """Return a row of a table with an action selector: one call a member, each with one value."""
        return Entry(self.table, match, self.name, members=tuple(self.call(value) for value in members))

    def is_called_by(self, entry: Entry) -> bool:
        """Return whether an entry calls the action."""
        return (entry.table, entry.action) == (self.table, self.name)


ARRIVE = Action("arrival", "arrive", ("group", "up"))
"""A frame came by a hop of this group, up or down; group 0 is the host or the controller."""

DEPART = Action("departure", "depart", ("group", "up"))
"""A frame leaves by a hop of this group, up or down."""

SET_VL = Action("vl_turn", "set_vl", ("vl",))
"""The turn is allowed, on this virtual lane."""

PUSH_ROUTE = Action("all_path", "push_route", ("bitmap", "instr"))
"""The host's frame gets a source route."""

SET_SEGMENT = Action("segment", "set_segment", ("base", "shift", "mask"))
"""The next hop is element base + (dcna >> shift & mask) of the table linear."""

SET_RAIL = Action("rail", "set_rail", ("base", "shift", "mask"))
"""As SET_SEGMENT, for a destination of the switch's own rail."""

FOREIGN_RAIL = Action("rail", "foreign_rail")
"""The destination is on a rail that the switch does not reach."""

SET_PORT = Action("linear", "set_port", ("port",))
"""The egress port of an element."""

SET_GROUP = Action("linear", "set_group", ("group", "shift", "mask"))
"""A hash of the frame selects a member of a group by its bits (hash >> shift & mask)."""

SET_EGRESS_PORT = Action("multipath", "set_egress_port", ("port",))
"""The egress port of a member of a group."""

SET_RANKS = Action("pxn_segment", "set_ranks", ("base", "shift", "mask"))
"""The destination's rank selects the neighbour that relays, in the table pxn."""

NO_PXN = Action("pxn_segment", "no_pxn")
"""The destination is in the GPU's own domain."""

SET_NEIGHBOUR = Action("pxn", "set_neighbour", ("port",))
"""The port to the neighbour whose NIC sends the frame on, or the port of the own NIC."""

MARK_FROM = Action("congestion", "mark_from", ("frames",))
"""Frames are marked if so many frames or more wait behind them."""

MARK_BETWEEN = Action("congestion", "mark_between", ("first", "last", "part"))
"""Frames are marked with a probability that grows from 0 at `first` frames to part / 65,536 at `last`."""

SET_TREE = Action(
    "reduce_tree",
    "set_tree",
    ("cna", "first", "cell_mask", "children", "root", "parent_port", "children_group"),
)
"""The switch is in a tree: its CNA, its cells, its children, the way up, and the multicast group down."""

FROM_CHILD = Action("reduce_from", "from_child", ("bits",))
"""The frame of a tree comes from a child, whose bit is set."""

FROM_PARENT = Action("reduce_from", "from_parent")
"""The frame of a tree comes from the parent."""

SET_TREE_NEIGHBOUR = Action("reduce_to", "set_neighbour", ("cna", "vl", "first", "last"))
"""The neighbour behind a port in a tree: its CNA, the virtual lane, its first and last leaf."""
