# SPDX-License-Identifier: Apache-2.0
"""Give slots of switches to trees, and take them back, over P4Runtime during a run."""

from __future__ import annotations

from typing import final

from controller.p4runtime.client import P4RuntimeClient
from controller.p4runtime.replication import multicast_group
from controller.plan.plan import Plan
from controller.plan.updates import Kind, Update
from controller.schemes.registry import scheme_class
from controller.trees.entries import TreeRows, tree_rows
from controller.trees.slots import Allotment, SlotPool
from controller.trees.tree import SwitchTree

__all__ = ["TreeSlots"]


@final
class TreeSlots:
    """Installs the trees of running jobs in switches: table entries, multicast groups and cells."""

    def __init__(self, plan: Plan, client: P4RuntimeClient) -> None:
        self.fabric = plan.fabric
        self._rules = scheme_class(plan.fabric, plan.scheme).rule_set(plan.rules, plan.fabric)
        self._client = client
        self._pool = SlotPool()
        self._rows: dict[int, dict[str, TreeRows]] = {}

    def give(self, tree: SwitchTree, slots: int) -> Allotment:
        """Allocate slots to a tree, and install its multicast groups and table entries in its switches.

        Raises:
            PlanError: A switch has no cells left, or the turn rules forbid the tree.
        """
        allotment = self._pool.give(tree, slots)
        rows = self._rows[allotment.number] = dict(tree_rows(self.fabric, self._rules, allotment))
        for switch, of_switch in rows.items():
            self._client.replicate(switch, [multicast_group(of_switch.group, of_switch.ports)])
        self._write("insert", rows)
        return allotment

    def take_back(self, allotment: Allotment, blocks: int) -> None:
        """Remove a tree from its switches and free its cells; `blocks` is the number of blocks it carried."""
        rows = self._rows.pop(allotment.number)
        self._write("delete", rows)
        for switch, of_switch in rows.items():
            self._client.replicate(switch, [multicast_group(of_switch.group, ())], "delete")
        self._pool.take_back(allotment.number, blocks)

    def _write(self, kind: Kind, rows: dict[str, TreeRows]) -> None:
        self._client.write_all(
            {switch: [Update(kind, row) for row in each.rows] for switch, each in rows.items()}
        )
