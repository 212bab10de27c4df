# SPDX-License-Identifier: Apache-2.0
"""Pods whose spines are joined by optical circuits that follow the traffic (LumosCore).

Circuits change while source routes stay. So a source route steers a frame up to a spine only, and the tables
decide the hops after it.
"""

from collections.abc import Sequence
from typing import final

import numpy as np
from numpy.typing import NDArray

from controller.paths.shares.buckets import row_rates
from controller.plan.entry import Path, hops_of
from controller.plan.path_columns import PathColumns
from controller.plan.plan import Plan
from controller.schemes.clos import Clos
from controller.schemes.reuse import Reused, after_moved_circuits
from controller.schemes.strategy import Steering, Strategy
from controller.tables.segments.circuits import dependent_switches, leaf_segments, spine_segments
from controller.tables.segments.segment import Segment, equal_cost_group
from controller.tables.segments.upward import highest_neighbours
from topologies import Fabric, Link, Node
from topologies.model.circuits import core_dimensions

__all__ = ["Optical"]


@final
class Optical(Clos):
    """Forwarding scheme of Pods joined by circuits: a spine's share of traffic follows its circuits alone."""

    moving_circuits = True

    @classmethod
    def serves(cls, fabric: Fabric) -> bool:
        """Return whether optical switches join the fabric's switches along a dimension."""
        return bool(core_dimensions(fabric))

    def path_weights(self, paths: PathColumns) -> NDArray[np.float64]:
        """Return a weight for each path, proportional to the rate of its circuits."""
        core = core_dimensions(self.fabric)
        joined = np.array([node.name in core for node in self.fabric.nodes])
        return row_rates(paths, self.finder.failed, joined)

    def segments_across(self, here: Node) -> Sequence[Segment]:
        """Return address segments for other Pods; a spine sends over its circuits, a leaf over its spines."""
        core = core_dimensions(self.fabric)
        across = spine_segments(self.finder, here) if here.name in core else super().segments_across(here)
        up = equal_cost_group(highest_neighbours(self.finder, here))
        return (*across, *(leaf_segments(self.finder, here, up) if up else ()))

    def hash_shift(self, node: str) -> int:
        """Return the first hash bit used by a switch.

        A core switch uses all bits: its groups allow for the bits that lower levels have used.
        """
        return 0 if node in core_dimensions(self.fabric) else super().hash_shift(node)

    def steered_part(self, path: Path) -> Path:
        """Return the part of a path before its first circuit."""
        path, core = super().steered_part(path), core_dimensions(self.fabric)
        inside = (index for index, hop in enumerate(hops_of(path)) if core.keys() >= {*hop})
        return path[: next(inside, len(path)) + 1]

    def steered_hops(self, paths: PathColumns) -> NDArray[np.int64]:
        """Return the number of hops before the first circuit of each path; only these need instructions."""
        core = core_dimensions(self.fabric)
        joined = np.array([node.name in core for node in self.fabric.nodes])
        tails, heads = paths.nodes[:, :-1], paths.nodes[:, 1:]
        circuit = (heads >= 0) & joined[tails] & joined[heads]
        first = np.where(circuit.any(axis=1), circuit.argmax(axis=1), paths.lengths)
        return np.minimum(super().steered_hops(paths), first)

    @classmethod
    def reuse(cls, previous: Plan, fabric: Fabric, strategy: Strategy, failed: frozenset[str]) -> Reused:
        """Return the previous plan's paths shorter than any path over a circuit, for one-path strategies."""
        shortest = strategy.single_path and strategy.steering is Steering.PATH
        return after_moved_circuits(previous, fabric, failed) if shortest else Reused()

    def depends_on(self, node: str, link: Link) -> bool:
        """Return whether the address tables of a node depend on a link.

        Tables of core switches, and of the switches below them, depend on all circuits.
        """
        core = core_dimensions(self.fabric)
        if core.keys() >= {link.a.node, link.b.node}:
            return node in core or not core.keys().isdisjoint(self.fabric.neighbours(node))
        return super().depends_on(node, link)

    def dependents(self, node: str, link: Link) -> Sequence[str]:
        """Return the nodes dependent on a link of `node`, in addition to the plan's subscribers.

        If the link is a circuit, the result includes the switches below `node`.
        """
        if core_dimensions(self.fabric).keys() >= {link.a.node, link.b.node}:
            return (*dependent_switches(self.fabric, node), *super().dependents(node, link))
        return super().dependents(node, link)
