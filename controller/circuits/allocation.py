# SPDX-License-Identifier: Apache-2.0
"""Allocate a demand between Pods to circuits of the optical switches."""

from typing import Literal

import numpy as np

from controller.circuits.baselines.exact import allocate_exact
from controller.circuits.bisection import bisect, even_split
from controller.circuits.demand import check_demand, check_matrix
from controller.circuits.entries import Entries
from controller.circuits.flow import Ints
from controller.circuits.pairs import assign_greedy
from controller.circuits.places import place_circuits
from controller.circuits.plan import DARK, CircuitPlan, check_maps, count_moves
from controller.circuits.split import orient, symmetric_split
from controller.errors import PlanError

__all__ = ["Method", "allocate", "allocate_by_spine"]

Method = Literal["flow", "scratch", "greedy", "exact"]


def allocate(
    demand: Ints,
    spines: int,
    ports: int,
    standing: CircuitPlan | None = None,
    method: Method = "flow",
    *,
    working: np.ndarray | None = None,
    seconds: float = 60.0,
) -> CircuitPlan:
    """Allocate all circuits of a demand between Pods to pairs of optical switches.

    Every demand that `check_demand` accepts is allocated in full. A spine's share of the circuits between two
    Pods is proportional to the number of its working pairs. Each spine gets its share to within less than two
    circuits, or less than four if spines have different numbers of working pairs.

    | method  | allocation                                                                                |
    |---------|-------------------------------------------------------------------------------------------|
    | flow    | Places new circuits one by one, each by a shortest chain of moves. If a circuit fits      |
    |         | nowhere or the spread becomes too uneven, bisects recursively by min-cost flows, which    |
    |         | always have a solution. Moves few standing circuits.                                      |
    | scratch | Bisects recursively, and ignores standing circuits.                                       |
    | greedy  | Shares circuits over spines from scratch, then assigns them one by one (`assign_greedy`). |
    | exact   | Moves the fewest circuits, by integer program, under the guarantees above.                |

    PlanError if a Pod asks for more circuits than it has ports, if a pair does not work and the method is
    `greedy` or `exact`, or if `exact` takes longer than `seconds`.

    Args:
        demand: Number of circuits between Pods, (P, P), symmetric.
        spines: Number of spines of a Pod, H.
        ports: Number of ports from a spine to optical switches, K; even.
        standing: Previous plan; its circuits are the standing circuits.
        method: Row of the table above.
        working: `working[h, k]` marks pair k of group h as usable; by default all pairs are.
        seconds: Time limit of `exact`.
    """
    demand = check_matrix(demand)
    slots = _usable_slots(spines, ports, demand.shape[-1], standing, working)
    check_demand(demand, 2 * len(slots))
    pairs, n = ports // 2, len(demand)
    old = None if standing is None or method == "scratch" else standing.maps.reshape(-1, n)[slots]
    if method in ("greedy", "exact") and len(slots) < spines * pairs:
        raise PlanError(
            f"the method {method} needs all {spines * pairs} pairs to work, but {len(slots)} do",
            remedy="use the method flow",
        )
    if method == "exact":
        maps = allocate_exact(demand, spines, pairs, old, seconds=seconds)
    elif method == "greedy":
        parts = even_split(symmetric_split(demand), spines)
        groups = [None] * spines if old is None else old.reshape(spines, pairs, n)
        maps = np.concatenate(
            [assign_greedy(part, pairs, was) for part, was in zip(parts, groups, strict=True)]
        )
    else:
        each = np.bincount(slots // pairs, minlength=spines)
        maps = _allocate_slots(demand, each[each > 0], old)
    return _circuit_plan(maps, slots, (spines, pairs), standing)


def allocate_by_spine(
    counts: Ints, ports: int, standing: CircuitPlan | None = None, *, working: np.ndarray | None = None
) -> CircuitPlan:
    """Allocate circuits to the demand of each spine, `counts`, (H, P, P); few standing circuits move.

    A spine whose demand did not change keeps its circuits. `ports`, `standing` and `working` are as in
    `allocate`. PlanError names a spine, and a Pod that asks for more circuits than the working pairs of the
    spine allow.
    """
    counts = np.asarray(counts)
    spines, n = counts.shape[0], counts.shape[-1]
    slots = _usable_slots(spines, ports, n, standing, working)
    spine = slots // (ports // 2)
    each = np.bincount(spine, minlength=spines)
    for h in range(spines):
        try:
            check_demand(counts[h], 2 * int(each[h]))
        except PlanError as error:
            raise PlanError(f"spine {h}: {error.message}", remedy=error.remedy) from error
    counts = counts.astype(np.int64)
    maps = np.full((len(slots), n), DARK) if standing is None else standing.maps.reshape(-1, n)[slots]
    left = [h for h in range(spines) if each[h]]
    if standing is not None:
        left = [h for h in left if not _place_in_group(counts[h], maps, spine == h)]
    if left:
        some = np.flatnonzero(np.isin(spine, left))
        old = None if standing is None else Entries.standing(maps[some])
        slots_of = each[left]
        if old is None:
            matrices = np.array([symmetric_split(symmetric) for symmetric in counts[left]])
        else:
            matrices = orient(counts[left], np.cumsum(slots_of) - slots_of, slots_of, old)
        entries = bisect(Entries.of(matrices), n, slots_of, first=np.arange(len(left)), standing=old)
        maps[some] = entries.maps(len(some), n)
    return _circuit_plan(maps, slots, (spines, ports // 2), standing)


def _allocate_slots(demand: Ints, each: Ints, old: Ints | None) -> Ints:
    """Return maps, (slots, N), of a demand; spine s has `each[s]` slots, and `old` are standing maps."""
    n, slots = len(demand), int(each.sum())
    first = np.zeros(1, np.int64)
    if old is None:
        return bisect(Entries.of(symmetric_split(demand)[None]), n, each, first=first).maps(slots, n)
    maps, done = place_circuits(demand, old, each, either_way=True)
    if done:
        return maps
    # Some circuits could not be placed. Bisection always succeeds: from the placed circuits or from the
    # standing circuits, whichever moves fewer.
    options = [_bisect(demand, each, start) for start in (maps, old)]
    return min(options, key=lambda maps_of_option: count_moves(old, maps_of_option).added)


def _bisect(demand: Ints, each: Ints, standing: Ints) -> Ints:
    """Allocate by bisection; if spines get uneven shares, bisect again and require even shares."""
    n, slots = len(demand), int(each.sum())
    first = np.zeros(1, np.int64)
    circuits = Entries.standing(standing)
    entries = Entries.of(orient(demand[None], first, first + slots, circuits))
    maps = bisect(entries, n, each, first=first, standing=circuits, even=False).maps(slots, n)
    if not _is_even_over_spines(demand, maps, each):
        maps = bisect(entries, n, each, first=first, standing=circuits).maps(slots, n)
    return maps


def _is_even_over_spines(demand: Ints, maps: Ints, each: Ints) -> bool:
    """Return whether each spine is less than two circuits off its share between any two Pods."""
    n, spines = len(demand), len(each)
    slot, row = np.nonzero(maps >= 0)
    col = maps[slot, row]
    low, high = np.nonzero(np.triu(demand))
    at = np.searchsorted(low * n + high, np.minimum(row, col) * n + np.maximum(row, col))
    has = np.bincount(at * spines + np.repeat(np.arange(spines), each)[slot], minlength=len(low) * spines)
    share = demand[low, high][:, None] * each
    return bool((np.abs(has.reshape(-1, spines) * each.sum() - share) < 2 * each.sum()).all())


def _place_in_group(demand: Ints, maps: Ints, mine: np.ndarray) -> bool:
    """Place a group's new circuits in its slots, and return whether all were placed."""
    maps[mine], done = place_circuits(demand, maps[mine], np.array([mine.sum()]), either_way=True)
    return done


def _usable_slots(
    spines: int, ports: int, pods: int, standing: CircuitPlan | None, working: np.ndarray | None
) -> Ints:
    """Check the arguments, and return the usable slots: slot h * pairs + k is pair k of group h."""
    if spines < 1 or ports < 2 or ports % 2:
        raise PlanError(
            f"{spines} spines of {ports} ports were given; expected at least one spine and an "
            f"even number of ports",
            remedy="give one spine or more, and ports in pairs",
        )
    shape = (spines, ports // 2)
    if standing is not None:
        check_maps(standing.maps, (*shape, pods))
    if working is None:
        return np.arange(spines * (ports // 2))
    if working.shape != shape:
        raise PlanError(
            f"the working pairs have shape {working.shape}", remedy=f"give an array of shape {shape}"
        )
    return np.flatnonzero(working)


def _circuit_plan(
    allocated: Ints, slots: Ints, shape: tuple[int, int], standing: CircuitPlan | None
) -> CircuitPlan:
    maps = np.full((shape[0] * shape[1], allocated.shape[-1]), DARK)
    maps[slots] = allocated
    return CircuitPlan.of(maps.reshape(*shape, -1), standing)
