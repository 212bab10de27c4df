# SPDX-License-Identifier: Apache-2.0
"""Find pairs of nodes without a route after failures, and describe the pairs in a sentence."""

from collections import Counter
from collections.abc import Iterable, Set

from controller.plan.entry import Pair
from controller.plan.path_columns import PairColumns
from controller.plan.plan import Plan
from controller.schemes.registry import scheme_of
from topologies.transform.spares import SIDES, cut_from

__all__ = ["describe_unreachable", "unreachable_pairs"]

_NAMED = 4


def unreachable_pairs(plan: Plan, down: Set[str], pairs: Iterable[Pair]) -> tuple[Pair, ...]:
    """Return the pairs of nodes without a route under the plan's rules while the links `down` have failed."""
    wanted = list(pairs)
    columns = PairColumns.of(plan.fabric, wanted)
    lost = set(columns.chosen(~scheme_of(plan, down).are_joined(columns)).names())
    return tuple(pair for pair in wanted if pair in lost)


def describe_unreachable(plan: Plan, down: Set[str], pairs: Iterable[Pair]) -> str:
    """Return a sentence about the unreachable pairs; empty if all pairs have a route.

    The sentence names isolated nodes, then nodes cut off from the network between domains or from their own
    domain, then the remaining pairs.
    """
    wanted = list(pairs)
    lost = unreachable_pairs(plan, down, wanted)
    asked = Counter(name for pair in wanted for name in pair)
    missed = Counter(name for pair in lost for name in pair)
    alone = [node.name for node in plan.fabric.nodes if missed[node.name] == asked[node.name] > 0]
    # A node is not isolated merely because it cannot reach an isolated node.
    rest = [pair for pair in lost if set(alone).isdisjoint(pair)]
    words = []
    if alone:
        words.append(f"{_first_names(alone)} {'is' if len(alone) == 1 else 'are'} cut off")
    missing = {name for pair in rest for name in pair}
    sides = {n.name: cut_from(plan.fabric, n.name, down) for n in plan.fabric.nodes if n.name in missing}
    for side, what in SIDES.items():
        if names := [name for name, lacks in sides.items() if lacks == side]:
            words.append(f"{', '.join(names)} {'has' if len(names) == 1 else 'have'} lost {what}")
            rest = [pair for pair in rest if set(names).isdisjoint(pair)]
    if rest:
        words.append(
            f"no route joins {_first_names([f'{source} to {destination}' for source, destination in rest])}"
        )
    return "; ".join(words)


def _first_names(names: list[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
