# SPDX-License-Identifier: Apache-2.0
"""Link-disjoint rings through a full mesh of n ranks, and AllReduce over several rings at once.

UB-Mesh maps the logical rings of an AllReduce on exclusive paths, borrows idle links, and splits the traffic
to balance them (the paper's section on multi-ring AllReduce). It gives no rings; these rings are derived:

- undirected: Walecki's decomposition (E. Lucas, Récréations mathématiques II, 1883). K_n has (n - 1)/2
  edge-disjoint Hamiltonian cycles for odd n; (n - 2)/2 and a perfect matching for even n. Each cycle serves
  both directions, as two rings.
- directed: n - 1 rings that use every link in both directions. For odd n these are Walecki's; for even n they
  exist except for 4 and 6 (T. W. Tillson, A Hamiltonian decomposition of K*_2m, 2m >= 8, 1980). A search
  finds them, in milliseconds up to 16 ranks, and `check_rings` checks them.
"""

import random
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from emulation.errors import EmulationError
from emulation.traffic.collectives.cutting import cut, cut_by
from emulation.traffic.schedule.goals import Goal
from emulation.traffic.schedule.schedule import Combine, Schedule, Transfer

__all__ = [
    "Arc",
    "Ring",
    "allreduce_ring",
    "arcs_of",
    "check_rings",
    "mesh_ring",
    "multi_ring",
    "pass_on",
    "rings",
    "walecki",
]

Ring = tuple[int, ...]
Arc = tuple[int, int]

MOST_TRIES = 200_000


def allreduce_ring(order: Sequence[int], elements: int) -> Schedule:
    """Return an AllReduce along a directed ring: each rank sends a chunk per step to the next in `order`."""
    ranks = len(order)
    if ranks < 2 or sorted(order) != list(range(ranks)):
        raise EmulationError(
            f"the ring {tuple(order)} does not visit each of the ranks 0 to {max(ranks, 2) - 1} exactly once"
        )
    transfers = pass_on(order, (0, elements))
    return Schedule(f"allreduce-ring-{ranks}", ranks, elements, tuple(transfers))


def multi_ring(orders: Sequence[Ring], elements: int, shares: Sequence[float] | None = None) -> Schedule:
    """Return an AllReduce along several directed rings at once, by shares of the array (default: equal).

    `split.balanced_rings` solves for the shares. EmulationError if two rings share a directed link.
    """
    check_rings(orders)
    shares = [1.0] * len(orders) if shares is None else shares
    if len(shares) != len(orders):
        raise EmulationError(f"{len(orders)} rings need a share each, got {len(shares)} shares")
    ranks = len(orders[0])
    transfers = [
        transfer
        for order, part in zip(orders, cut_by(0, elements, shares), strict=True)
        for transfer in pass_on(order, part)
    ]
    goal = Goal("allreduce", tuple(range(ranks)), (((0, elements),),), end=2 * (ranks - 1))
    return Schedule(f"allreduce-{len(orders)}-rings-{ranks}", ranks, elements, tuple(transfers), (goal,))


def pass_on(order: Sequence[int], part: tuple[int, int]) -> list[Transfer]:
    """Return the transfers of an AllReduce of a range of the array along a directed ring."""
    ranks = len(order)
    chunks = cut(*part, ranks)
    transfers = []
    for step in range(2 * (ranks - 1)):
        op = Combine.REDUCE if step < ranks - 1 else Combine.COPY
        for position, source in enumerate(order):
            low, high = chunks[(position - step) % ranks]
            if high > low:
                target = order[(position + 1) % ranks]
                transfers.append(Transfer(step, source, target, low, high - low, op))
    return transfers


def mesh_ring(dims: Sequence[int]) -> Ring:
    """Return a Hamiltonian ring of a 2D full mesh, whose hops are direct links.

    The ring visits the rows in alternating directions, without column 0, then goes back along column 0.
    """
    if len(dims) != 2 or min(dims) < 1 or dims[0] * dims[1] < 2:
        raise EmulationError(
            f"a mesh ring needs two dimensions and two or more ranks, got dimensions {tuple(dims)}"
        )
    columns, rows = dims
    forth = [x + columns * y for y in range(rows) for x in range(1, columns)[:: -1 if y % 2 else 1]]
    back = [columns * y for y in reversed(range(rows))]
    return tuple(forth + back)


def arcs_of(ring: Ring) -> tuple[Arc, ...]:
    """Return the directed links of a ring, from each rank to the next."""
    return tuple(zip(ring, (*ring[1:], ring[0]), strict=True))


def check_rings(orders: Sequence[Ring]) -> None:
    """Raise an EmulationError unless each ring visits all ranks and no two rings share a directed link."""
    if not orders:
        raise EmulationError("a collective on rings needs at least one ring", remedy="give one or more rings")
    ranks = len(orders[0])
    owner: dict[Arc, Ring] = {}
    for ring in orders:
        if ranks < 2 or sorted(ring) != list(range(ranks)):
            raise EmulationError(
                f"the ring {ring} does not visit each of the ranks 0 to {max(ranks, 2) - 1} exactly once",
                remedy="give rings that all visit the same ranks, two or more, numbered from 0",
            )
        for arc in arcs_of(ring):
            if arc in owner:
                raise EmulationError(
                    f"the rings {owner[arc]} and {ring} both go from {arc[0]} to {arc[1]}",
                    remedy="give rings that share no link in a direction",
                )
            owner[arc] = ring


def rings(n: int, kind: Literal["undirected", "directed"] = "directed") -> tuple[Ring, ...]:
    """Return rings on n ranks that share no directed link.

    Args:
        n: Number of ranks, two or more.
        kind: `undirected`: Walecki's cycles in both directions; for even n their n - 2 rings leave the links
            of a perfect matching idle. `directed`: n - 1 rings over all links; n - 2 for 4 and 6 ranks.
    """
    if n < 2:
        raise EmulationError(f"rings need two or more ranks, got {n}")
    if n == 2:
        return ((0, 1),)
    if kind == "directed" and n % 2 == 0 and n not in (4, 6):
        return _tillson(n)
    cycles, _ = walecki(n)
    return tuple(ring for cycle in cycles for ring in (cycle, (cycle[0], *reversed(cycle[1:]))))


def walecki(n: int) -> tuple[tuple[Ring, ...], tuple[Arc, ...]]:
    """Return edge-disjoint Hamiltonian cycles of K_n and the remaining edges, a perfect matching for even n.

    Rank q = n - 1 is in the middle, ranks 0 to q - 1 are on a circle. Cycle i zigzags across the circle (i,
    i + 1, i - 1, i + 2, ...) and closes through the middle. Its edges join ranks whose sums are 2i or 2i + 1
    modulo q, so cycles of different i share no edge.
    """
    if n < 3:
        raise EmulationError(f"Hamiltonian cycles need three or more ranks, got {n}")
    q = n - 1
    middle = q
    cycles = []
    for i in range(q // 2):
        zigzag = [i]
        for step in range(1, q):
            zigzag.append((zigzag[-1] + (step if step % 2 else -step)) % q)
        cycles.append((middle, *zigzag))
    if n % 2:
        return tuple(cycles), ()
    # q is odd: no cycle has edges of the last sum modulo q, q - 1.
    pairs = [(a, (q - 1 - a) % q) for a in range(q)]
    matching = [(a, b) for a, b in pairs if a < b]
    alone = next(a for a, b in pairs if a == b)
    return tuple(cycles), (*matching, (alone, middle))


@lru_cache
def _tillson(n: int) -> tuple[Ring, ...]:
    """Return n - 1 directed Hamiltonian cycles covering every arc of K*_n once, for even n from 8.

    The search begins with the n - 1 permutations i -> i + d, which use every arc once. It redistributes the
    arcs of two or three permutations at random, and keeps the result if it has no more cycles than before,
    until every permutation is a single cycle. Two permutations alone never change the joint parity of all.
    """
    dice = random.Random(n)
    rows = [[(position + shift) % n for position in range(n)] for shift in range(1, n)]
    cycles = [_cycles(row) for row in rows]
    for _ in range(MOST_TRIES):
        broken = [row for row, count in enumerate(cycles) if count > 1]
        if not broken:
            break
        first = dice.choice(broken)
        others = [row for row in range(n - 1) if row != first]
        chosen = [first, *dice.sample(others, dice.choice((1, 2)))]
        dealt = _deal([[rows[row][position] for row in chosen] for position in range(n)], dice)
        counts = [_cycles(row) for row in dealt]
        if sum(counts) <= sum(cycles[row] for row in chosen):
            for row, new, count in zip(chosen, dealt, counts, strict=True):
                rows[row], cycles[row] = new, count
    else:
        raise EmulationError(
            f"{n - 1} rings on {n} ranks were not found", remedy='take rings of kind "undirected"'
        )
    hamiltonian = tuple(_ring(row) for row in rows)
    check_rings(hamiltonian)
    return hamiltonian


def _deal(choices: list[list[int]], dice: random.Random) -> list[list[int]]:
    """Return permutations that together use every arc i -> `choices[i][k]` exactly once, drawn at random.

    Each permutation is a perfect matching of the bipartite graph of the arcs, in which every node has the
    same degree. At the end, `choices` has the arcs of the last permutation only.
    """
    n = len(choices)
    dealt = []
    for _ in range(len(choices[0]) - 1):
        taken_by = [-1] * n

        def take(position: int, tried: set[int], taken_by: list[int] = taken_by) -> bool:
            for to in dice.sample(choices[position], len(choices[position])):
                if to not in tried:
                    tried.add(to)
                    if taken_by[to] < 0 or take(taken_by[to], tried):
                        taken_by[to] = position
                        return True
            return False

        for position in dice.sample(range(n), n):
            take(position, set())
        row = [0] * n
        for to, position in enumerate(taken_by):
            row[position] = to
        for position in range(n):
            choices[position].remove(row[position])
        dealt.append(row)
    dealt.append([left[0] for left in choices])
    return dealt


def _cycles(row: Sequence[int]) -> int:
    seen: set[int] = set()
    count = 0
    for position in range(len(row)):
        count += position not in seen
        while position not in seen:
            seen.add(position)
            position = row[position]
    return count


def _ring(row: Sequence[int]) -> Ring:
    ring = [0]
    while row[ring[-1]]:
        ring.append(row[ring[-1]])
    return tuple(ring)
