# SPDX-License-Identifier: Apache-2.0
"""LumosCore's circuits between Pods: split of a demand, demands that are realised, peers of each port."""

from __future__ import annotations

import numpy as np

from controller import PlanError
from controller.circuits import (
    allocate,
    allocate_uniform,
    check_crossconnects,
    check_l2,
    crossconnects,
    even_split,
    symmetric_split,
)
from controller.circuits.flow import Ints
from papers.claims import Measured, Progress, Values
from papers.lumoscore.load import feasible, full

# First seed of random demands; no other measurement or test uses these seeds.
SEED = 24110
_FAMILY = (2, 4, 8, 16, 32)


def run_decomposition(note: Progress, draws: int = 1000, *, upper: bool = False) -> Values:
    """Measure how often random symmetric demands split exactly into A + A.T, and A over spines.

    A split is exact if its parts add up to the whole, and if each entry, row sum and column sum of a part is
    the whole's divided by the number of parts and rounded.

    Args:
        draws: number of random demands; a fifth of the matrices A are split over spines.
        upper: take the upper triangle as A, and split A over spines by division that rounds down.
    """
    rng = np.random.default_rng(SEED)
    exact, even, split = 0, 0, max(draws // 5, 1)
    for draw in range(draws):
        note("splitting", draw / draws)
        demand = _symmetric(rng)
        a = symmetric_split(demand)
        parts_of = np.triu(demand) if upper else a
        exact += bool((parts_of + parts_of.T == demand).all()) and _shared(parts_of, demand, 2)
        if draw < split:
            spines = int(rng.integers(2, 9))
            parts = np.stack([a // spines] * spines) if upper else even_split(a, spines)
            even += bool((parts.sum(axis=0) == a).all()) and all(_shared(part, a, spines) for part in parts)
    return {
        "halves": Measured(100 * exact / draws, detail=f"{exact:,} of {draws:,}"),
        "spines": Measured(100 * even / split, detail=f"{even:,} of {split:,}"),
    }


def _symmetric(rng: np.random.Generator) -> Ints:
    n = int(rng.integers(2, 41))
    half = np.triu(rng.integers(0, int(rng.integers(2, 20)), (n, n)) * (rng.random((n, n)) < rng.random()), 1)
    return half + half.T


def _shared(part: Ints, whole: Ints, parts: int) -> bool:
    """Return whether entries, row sums and column sums equal those of `whole` divided by `parts`, rounded."""
    return all(
        bool(((some >= every // parts) & (some <= -(-every // parts))).all())
        for some, every in (
            (part, whole),
            (part.sum(axis=0), whole.sum(axis=0)),
            (part.sum(axis=1), whole.sum(axis=1)),
        )
    )


def run_realisable(
    note: Progress, draws: int = 200, wiring: str = "cross", baseline: str = "uniform"
) -> Values:
    """Measure the share of demands realised whole by cross wiring, if demands use every port.

    Args:
        draws: number of demands; uniform wiring is measured on every second demand, with few Pods.
        wiring: wiring that is measured as cross wiring.
        baseline: wiring that is measured as uniform wiring.
    """

    def circuits(kind: str, demand: Ints, spines: int, ports: int) -> int:
        if kind == "cross":
            return allocate(demand, spines, ports).total
        return allocate_uniform(demand, ports, "exact")[0]

    rng = np.random.default_rng(SEED + 1)
    whole = cut = few_draws = 0
    shares: list[float] = []
    for draw in range(draws):
        note("realising", 0.9 * draw / draws)
        few = bool(draw % 2) or wiring == "uniform"
        pods, spines = int(rng.integers(3, 8 if few else 33)), 1 if few else int(rng.integers(1, 9))
        ports = 2 * int(rng.integers(1, 5))
        demand = full(rng, pods, spines * ports)
        asked = int(demand.sum()) // 2
        whole += circuits(wiring, demand, spines, ports) == asked
        if few:
            few_draws += 1
            shares.append(circuits(baseline, demand, spines, ports) / asked)
            cut += shares[-1] < 1
    note("three Pods", 0.9)
    triangle = 1 - np.eye(3, dtype=np.int64)
    parts = {
        kind: [100 * circuits(kind, ports // 2 * triangle, 1, ports) / (3 * ports // 2) for ports in _FAMILY]
        for kind in {wiring, baseline}
    }
    mean = 100 * sum(shares) / len(shares)
    return {
        "cross": Measured(100 * whole / draws, detail=f"{whole} of {draws}"),
        "uniform": Measured(
            100 * cut / few_draws,
            detail=f"{mean:.1f} % of circuits on average, {100 * min(shares):.1f} % least",
        ),
        "three-uniform": max(parts[baseline]),
        "three-cross": min(parts[wiring]),
    }


def run_ports(note: Progress, draws: int = 200, *, dark: bool = False, broken: bool = True) -> Values:
    """Count the ports that send to one peer and receive from another, in plans after a change.

    Also counts pairs of switches whose maps are not transposes of each other, switches whose maps are not
    permutations, and maps with a missing cross-connect that the check refuses.

    Args:
        draws: number of plans.
        dark: remove a cross-connect before ports are counted.
        broken: remove a cross-connect before the check.
    """
    rng = np.random.default_rng(SEED + 2)
    ports = different = pairs_of = asymmetric = switches = crowded = tried = refused = 0
    for draw in range(draws):
        note("plans", draw / draws)
        pods, spines, pairs = int(rng.integers(3, 17)), int(rng.integers(1, 5)), int(rng.integers(1, 7))
        plan = allocate(feasible(rng, pods, 2 * spines * pairs), spines, 2 * pairs)
        plan = allocate(feasible(rng, pods, 2 * spines * pairs), spines, 2 * pairs, plan)
        check_l2(plan.maps)
        result = crossconnects(plan.maps)
        lit = np.argwhere(result >= 0)
        taken = tuple(lit[rng.integers(len(lit))]) if len(lit) else None
        if dark and taken:
            result[taken] = -1
        talks, hears = _peers(result)
        ports, different = ports + talks.size, different + int((talks != hears).sum())
        matrices = result[..., None] == np.arange(pods)
        even, odd = matrices[:, 0::2], matrices[:, 1::2]
        pairs_of += even.shape[0] * even.shape[1]
        asymmetric += int((odd != even.swapaxes(-1, -2)).any(axis=(-1, -2)).sum())
        switches += matrices.shape[0] * matrices.shape[1]
        crowded += int(((matrices.sum(axis=-1) > 1) | (matrices.sum(axis=-2) > 1)).any(axis=-1).sum())
        if taken:
            if broken:
                result[taken] = -1
            tried += 1
            try:
                check_crossconnects(result)
            except PlanError:
                refused += 1
    return {
        "same": Measured(different, detail=f"{ports:,} ports, {draws:,} plans"),
        "transposed": Measured(asymmetric, detail=f"{pairs_of:,} pairs"),
        "permuted": Measured(crowded, detail=f"{switches:,} switches"),
        "refused": Measured(100 * refused / tried, detail=f"{refused} of {tried}"),
    }


def _peers(switches: Ints) -> tuple[Ints, Ints]:
    """Return the peers to which each port sends and from which it receives, as port * N + Pod; -1: none.

    `switches` has the shape (..., K, N). Switch 2k leads from ports 2k to ports 2k + 1, switch 2k + 1 from
    ports 2k + 1 to ports 2k.
    """
    talks, hears = np.full(switches.shape, -1), np.full(switches.shape, -1)
    lit = np.nonzero(switches >= 0)
    *group, k, pod = lit
    pods, neighbour = switches.shape[-1], switches[lit]
    talks[lit] = (k ^ 1) * pods + neighbour
    hears[(*group, k ^ 1, neighbour)] = k * pods + pod
    return talks, hears
