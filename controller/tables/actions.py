# SPDX-License-Identifier: Apache-2.0
"""P4 actions called by the entries of plans, each declared once: its table, name, parameters and meaning.

Code that creates or reads a row takes the action from this module, so that a wrong name fails when the plan
is made. A test compares the declarations with the p4info of every compiled program.
"""

from dataclasses import dataclass
from functools import lru_cache
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
    """An action of one table; `params` are the names of its parameters, in order."""

    table: str
    name: str
    params: tuple[str, ...] = ()

    def call(self, *values: int) -> Params:
        """Return the (parameter, value) pairs of a call; PlanError if the number of values is wrong."""
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
        """Return a row of a table with an action selector; each member calls the action with one value."""
        return Entry(self.table, match, self.name, members=tuple(_member(self, value) for value in members))

    def is_called_by(self, entry: Entry) -> bool:
        """Return whether an entry calls the action."""
        return (entry.table, entry.action) == (self.table, self.name)


@lru_cache(maxsize=1 << 12)
def _member(action: Action, value: int) -> Params:
    """Return the call of a group's member; equal calls of all groups are one object, and encoded once."""
    return action.call(value)


ARRIVE = Action("arrival", "arrive", ("group", "up"))
"""A frame from this port has taken a hop of this group, up or down; group 0: from host or controller."""

DEPART = Action("departure", "depart", ("group", "up"))
"""A frame to this port takes a hop of this group, up or down; group 0: to the host."""

SET_VL = Action("vl_turn", "set_vl", ("vl",))
"""The turn is allowed; the frame leaves on this virtual lane."""

PUSH_ROUTE = Action("all_path", "push_route", ("bitmap", "instr"))
"""A frame from the host gets this source route."""

SET_SEGMENT = Action("segment", "set_segment", ("base", "shift", "mask"))
"""The next hop is element base + (dcna >> shift & mask) of the table linear."""

SET_RAIL = Action("rail", "set_rail", ("base", "shift", "mask"))
"""As SET_SEGMENT, for a destination on the switch's own rail; the table segment is skipped."""

FOREIGN_RAIL = Action("rail", "foreign_rail")
"""The destination is on a rail that the switch does not reach; the frame is dropped."""

SET_PORT = Action("linear", "set_port", ("port",))
"""The next hop is a single egress port."""

SET_GROUP = Action("linear", "set_group", ("group", "shift", "mask"))
"""The next hop is a group; bits of a hash of the frame (hash >> shift & mask) select a member."""

SET_EGRESS_PORT = Action("multipath", "set_egress_port", ("port",))
"""The egress port of a member of a group."""

SET_RANKS = Action("pxn_segment", "set_ranks", ("base", "shift", "mask"))
"""The next hop is element base + (dcna >> shift & mask) of the table pxn: by the destination's rank."""

NO_PXN = Action("pxn_segment", "no_pxn")
"""The destination is in the GPU's own domain, so no GPU relays the frame."""

SET_NEIGHBOUR = Action("pxn", "set_neighbour", ("port",))
"""The egress port to the GPU whose NIC sends the frame on, or to this GPU's own NIC."""

MARK_FROM = Action("congestion", "mark_from", ("frames",))
"""A departing frame is marked if at least `frames` frames wait behind it."""

MARK_BETWEEN = Action("congestion", "mark_between", ("first", "last", "part"))
"""A departing frame is marked with a probability that depends on the number of frames that wait behind it.

The probability grows from 0 at `first` frames to part / 65,536 just below `last`, and is 1 from `last` on.
"""

SET_TREE = Action(
    "reduce_tree",
    "set_tree",
    ("cna", "first", "cell_mask", "children", "root", "parent_port", "children_group"),
)
"""The switch is in a reduction tree: its CNA, its cells, the bits of its children, and the neighbours' ports.

`root` is 1 at the root. Other switches have a parent at `parent_port`. The multicast group `children_group`
leads to the children.
"""

FROM_CHILD = Action("reduce_from", "from_child", ("bits",))
"""The frame of a tree comes from the child that has this bit."""

FROM_PARENT = Action("reduce_from", "from_parent")
"""The frame of a tree comes from the parent."""

SET_TREE_NEIGHBOUR = Action("reduce_to", "set_neighbour", ("cna", "vl", "first", "last"))
"""The neighbour of a tree at a port: its CNA, the virtual lane to it, and its first and last leaf."""
