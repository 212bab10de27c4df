# SPDX-License-Identifier: Apache-2.0
"""Plan of a collective that switches carry out, made and checked before the run starts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from controller.trees.bounds import full_rate_slots, tree_bound_ps
from controller.trees.laying import lay_trees
from controller.trees.slots import CELLS
from controller.trees.tree import SwitchTree
from emulation.traffic.frames.values import Combining
from emulation.traffic.schedule.schedule import Schedule
from emulation.traffic.tree.wire import FRAME_BYTES, HEADER_BYTES
from emulation.traffic.tree.work import Work, work_of
from harness.errors import ScenarioError
from harness.scenario.schema import Collective, JobSettings
from topologies import Fabric

__all__ = ["BOUND", "TreePlan", "check_job", "plan_trees"]

BOUND = "frames of all blocks over the busiest link of a tree, and the last up and down; derived here"

_LEAST_SLOTS = 8

_OPERATIONS = {"sum": "SUM", "maximum": "MAX", "minimum": "MIN"}

# Source and owner of frames without values, as a leaf that no tree has.
_NOBODY = (-1, -1)


@final
@dataclass(frozen=True, slots=True)
class TreePlan:
    """Plan of a collective in switches.

    `work` has the blocks of each tree, `slots` the number of slots of each tree. `bound_ps` is a lower bound
    of the collective's time.
    """

    trees: tuple[SwitchTree, ...]
    work: Work
    slots: int
    bound_ps: int

    @property
    def frame_bytes(self) -> int:
        """Bytes of a member's frames of all blocks, if each is sent once and with values."""
        return self.work.blocks * FRAME_BYTES


def plan_trees(
    fabric: Fabric, members: Sequence[str], schedule: Schedule, collective: Collective
) -> TreePlan:
    """Return the plan of a collective in switches.

    Without `slots:`, a tree has twice as many slots as the full rate needs, as far as switches have cells.

    Raises:
        PlanError: No switch leads to all members.
    """
    trees = lay_trees(fabric, members)
    (goal,) = schedule.goals
    slots, operation = collective.slots, Combining[_OPERATIONS[collective.operation]]
    work = work_of(goal, len(trees), operation=operation, dtype=collective.dtype)
    if slots is None:
        needed = max(full_rate_slots(fabric, tree, FRAME_BYTES) for tree in trees)
        at_once = Counter(switch for tree in trees for switch in tree.children)
        slots = max(_LEAST_SLOTS, 1 << (round(2 * needed) - 1).bit_length())
        slots = min(slots, 1 << (CELLS // 2 // max(at_once.values())).bit_length() - 1)
    bound_ps = 0
    for tree, blocks in zip(trees, work.by_tree, strict=True):
        leaf = {rank: tree.spans[name][0] for rank, name in enumerate(members)}
        counts = Counter(
            (
                None if block.source is None else leaf[block.source],
                None if block.owner is None else leaf[block.owner],
            )
            for block in blocks
        )
        if work.scaled:
            # In a float32 sum, a frame that carries only a scale precedes the first block of each slot.
            counts[_NOBODY] += min(slots, len(blocks))
        bound_ps = max(bound_ps, tree_bound_ps(fabric, tree, counts, HEADER_BYTES, FRAME_BYTES))
    return TreePlan(trees, work, slots, bound_ps)


def check_job(job: JobSettings) -> None:
    """Check a job whose collective the switches carry out.

    ScenarioError if the job has iterations, computation or a priority, which switches do not support.
    """
    if job.rhythm is not None:
        raise ScenarioError(
            f"job {job.name} has iterations or computation, but switches carry out a collective once",
            remedy="leave out `iterations:` and `compute_us:`, or use another algorithm",
        )
    if job.level:
        raise ScenarioError(
            f"job {job.name} has `priority: {job.priority}`, but a collective in switches has no priority",
            remedy="leave out `priority:`, or use another algorithm",
        )
