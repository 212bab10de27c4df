# SPDX-License-Identifier: Apache-2.0
"""A change of circuits under way, with its link ends and table updates."""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import final

from controller.circuits.transition import Crossconnects
from controller.paths.shares.weights import Demand
from controller.plan.plan import Plan
from controller.plan.updates import Update, Updates
from topologies import Fabric

__all__ = ["Change", "Port", "ends_beyond", "without_turns"]

Port = tuple[str, int]

# Tables that restrict ingress and egress ports, and do not choose routes.
_TURNS = frozenset({"arrival", "departure", "vl_turn"})


@final
@dataclass(slots=True)
class Change:
    """A change of circuits under way.

    Attributes:
        begun_ps: Begin of the change.
        why: Cause in words.
        before: Fabric before the change.
        stay: Fabric with only the circuits that do not move.
        target: Fabric after the change.
        circuits: New crossconnects of the optical switches.
        plan: Plan of `target`.
        jobs: Demand of each job for which circuits are allocated.
        then: Callbacks that begin the waiting jobs after the change.
        hitless: True if routes lead around every circuit while it moves.
        updates: Number of table entries written so far.
        ports: Ends of all circuits that are set up or torn down.
        held: Nodes that switch to the routes of `stay`.
        held_ps: Time at which the nodes in `held` switch.
        unlit: Ends of new circuits that are still dark.
        waits_for: Ends in `unlit` that are expected to get light.
        turned: True once the old circuits are gone.
        lit_ps: Time at which the new circuits get light; None before `turned`.
    """

    begun_ps: int
    why: str
    before: Fabric
    stay: Fabric
    target: Fabric
    circuits: Crossconnects
    plan: Plan
    jobs: Mapping[str, Demand]
    then: list[Callable[[], None]]
    hitless: bool
    updates: int
    ports: frozenset[Port]
    held: Set[str]
    held_ps: int
    unlit: set[Port]
    waits_for: set[Port]
    turned: bool = False
    lit_ps: int | None = None

    @property
    def standing(self) -> Fabric:
        """Fabric with the old circuits still up: all until `turned`, then only the kept circuits."""
        return self.stay if self.turned else self.before


def without_turns(updates: Sequence[Update]) -> Sequence[Update]:
    """Return the updates, except updates of tables that only restrict ingress and egress ports."""
    if isinstance(updates, Updates):
        return updates.without(_TURNS)
    return tuple(update for update in updates if update.entry.table not in _TURNS)


def ends_beyond(fabric: Fabric, other: Fabric) -> frozenset[Port]:
    """Return the ends of the links of `fabric` missing from `other`."""
    have = {link.name for link in other.links}
    new = (link for link in fabric.links if link.name not in have)
    return frozenset((end.node, end.port) for link in new for end in (link.a, link.b))
