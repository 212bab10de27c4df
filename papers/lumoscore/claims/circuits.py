# SPDX-License-Identifier: Apache-2.0
"""LumosCore's circuits between Pods: how a demand is split, what can be realised, what every port hears."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from papers.claims import Progress
from papers.claims.findings import Finding, FindingsCheck, FindingVerdict

if TYPE_CHECKING:
    import numpy as np

    from controller.circuits.flow import Ints

__all__ = [
    "CHECKS",
    "DERIVED",
    "SEED",
    "TARGET",
    "holds",
    "of",
    "run_decomposition",
    "run_ports",
    "run_realisable",
]

_CODE = "LumosCore, released code"
_ABSTRACT = "LumosCore, abstract of v7"
DERIVED = "derived here"
TARGET = "our target"

# Random demands begin here: seeds that no other measurement or test uses.
SEED = 24110
_FAMILY = (2, 4, 8, 16, 32)


def holds(good: bool) -> FindingVerdict:
    """Return the verdict of a property that must hold exactly."""
    return "holds" if good else "differs"


def of(some: int, draws: int, what: str = "") -> str:
    """Describe a count out of all draws."""
    return f"{some:,} of {draws:,}{what and f' {what}'}"


def _percent(values: Sequence[float]) -> str:
    return f"{100 * sum(values) / len(values):.1f} % on average, {100 * min(values):.1f} % at least"


def run_decomposition(note: Progress, draws: int = 1000) -> Sequence[Finding]:
    """Any symmetric matrix as A + A.T; then A over spines."""
    import numpy as np

    from controller.circuits import even_split, symmetric_split

    rng = np.random.default_rng(SEED)
    exact, even, split = 0, 0, max(draws // 5, 1)
    for draw in range(draws):
        note("splitting", draw / draws)
        demand = _symmetric(rng)
        a = symmetric_split(demand)
        exact += bool((a + a.T == demand).all()) and _shared(a, demand, 2)
        if draw < split:
            spines = int(rng.integers(2, 9))
            parts = even_split(a, spines)
            even += bool((parts.sum(axis=0) == a).all()) and all(_shared(part, a, spines) for part in parts)
    return (
        Finding(
            "random symmetric C = A + A.T, entries, row and column sums of A half of C's, rounded",
            _CODE,
            "every one",
            of(exact, draws, "exact"),
            holds(exact == draws),
        ),
        Finding(
            "A over 2 to 8 spines, entries, row and column sums of each a spine's share, rounded",
            _CODE,
            "every one",
            of(even, split, "exact"),
            holds(even == split),
        ),
    )


def _symmetric(rng: np.random.Generator) -> Ints:
    import numpy as np

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


def run_realisable(note: Progress, draws: int = 200) -> Sequence[Finding]:
    """Demands that use every port, under either wiring."""
    import numpy as np

    from controller.circuits import allocate, allocate_uniform
    from papers.lumoscore.load import full

    rng = np.random.default_rng(SEED + 1)
    cross: list[float] = []
    uniform: list[float] = []
    for draw in range(draws):
        note("realising", 0.9 * draw / draws)
        few = draw % 2
        pods, spines = int(rng.integers(3, 8 if few else 33)), 1 if few else int(rng.integers(1, 9))
        ports = 2 * int(rng.integers(1, 5))
        demand = full(rng, pods, spines * ports)
        asked = int(demand.sum()) // 2
        cross.append(allocate(demand, spines, ports).total / asked)
        if few:
            uniform.append(allocate_uniform(demand, ports, "exact")[0] / asked)
    note("three Pods", 0.9)
    thirds = [allocate_uniform(_three(ports), ports, "exact")[0] for ports in _FAMILY]
    whole = [allocate(_three(ports), 1, ports).total for ports in _FAMILY]
    cut = sum(item < 1 for item in uniform)
    asked = [3 * ports // 2 for ports in _FAMILY]
    sizes = ", ".join(map(str, _FAMILY))
    return (
        Finding(
            "random demands for every port of 3 to 32 Pods: circuits realised by cross wiring",
            DERIVED,
            "100 %",
            f"{of(sum(share == 1 for share in cross), draws)} demands whole; {100 * min(cross):g} % at least",
            holds(min(cross) == 1),
        ),
        Finding(
            "the same of 3 to 7 Pods: the most that uniform wiring can realise",
            _ABSTRACT,
            "some demands cannot be realised",
            f"{of(cut, len(uniform))} cannot; {_percent(uniform)}",
            holds(cut > 0),
        ),
        Finding(
            f"3 Pods, K/2 circuits between any two, K of {sizes}: uniform wiring",
            DERIVED,
            "K of 3K/2, two thirds",
            _circuits(thirds, asked),
            holds(tuple(thirds) == _FAMILY),
        ),
        Finding(
            "the same: cross wiring", DERIVED, "all of 3K/2", _circuits(whole, asked), holds(whole == asked)
        ),
    )


def _three(ports: int) -> Ints:
    import numpy as np

    return ports // 2 * (1 - np.eye(3, dtype=np.int64))


def _circuits(result: Iterable[int], asked: Iterable[int]) -> str:
    return ", ".join(f"{some} of {every}" for some, every in zip(result, asked, strict=True))


def run_ports(note: Progress, draws: int = 200) -> Sequence[Finding]:
    """Check the peers of each port, fibre by fibre, in plans and after changes of plans."""
    import numpy as np

    from controller import PlanError
    from controller.circuits import allocate, check_crossconnects, check_l2, crossconnects
    from papers.lumoscore.load import feasible

    rng = np.random.default_rng(SEED + 2)
    ports = same = switches = transposed = permuted = broken = refused = 0
    for draw in range(draws):
        note("plans", draw / draws)
        pods, spines, pairs = int(rng.integers(3, 17)), int(rng.integers(1, 5)), int(rng.integers(1, 7))
        plan = allocate(feasible(rng, pods, 2 * spines * pairs), spines, 2 * pairs)
        plan = allocate(feasible(rng, pods, 2 * spines * pairs), spines, 2 * pairs, plan)
        check_l2(plan.maps)
        result = crossconnects(plan.maps)
        talks, hears = _peers(result)
        ports, same = ports + talks.size, same + int((talks == hears).sum())
        matrices = result[..., None] == np.arange(pods)
        even, odd = matrices[:, 0::2], matrices[:, 1::2]
        switches += matrices.shape[0] * matrices.shape[1]
        transposed += int((odd == even.swapaxes(-1, -2)).all(axis=(-1, -2)).sum())
        permuted += int(((matrices.sum(axis=-1) <= 1) & (matrices.sum(axis=-2) <= 1)).all(axis=-1).sum())
        lit = np.argwhere(result >= 0)
        if len(lit):
            h, k, i = lit[rng.integers(len(lit))]
            result[h, k, i], broken = -1, broken + 1
            try:
                check_crossconnects(result)
            except PlanError:
                refused += 1
    return (
        Finding(
            "every port's Tx and Rx reach the same remote port",
            DERIVED,
            "all",
            f"{of(same, ports)} ports, {draws:,} plans",
            holds(same == ports),
        ),
        Finding(
            "optical switch 2k + 1 carries the transpose of switch 2k",
            _CODE,
            "all",
            f"{of(transposed, switches // 2)} pairs",
            holds(2 * transposed == switches),
        ),
        Finding(
            "each optical switch is a partial permutation",
            DERIVED,
            "all",
            f"{of(permuted, switches)} switches",
            holds(permuted == switches),
        ),
        Finding(
            "one direction of one circuit taken away: refused",
            DERIVED,
            "all",
            of(refused, broken),
            holds(refused == broken),
        ),
    )


def _peers(switches: Ints) -> tuple[Ints, Ints]:
    """Return the peer that each port of (..., K, N) sends to and hears, as port * N + Pod; -1 for none.

    Switch 2k takes from port 2k and gives to 2k + 1, switch 2k + 1 the other way round.
    """
    import numpy as np

    n = switches.shape[-1]
    talks, hears = np.full(switches.shape, -1), np.full(switches.shape, -1)
    for at in np.argwhere(switches >= 0):
        *group, k, pod = (int(item) for item in at)
        neighbour = int(switches[tuple(at)])
        talks[(*group, k, pod)] = (k ^ 1) * n + neighbour
        hears[(*group, k ^ 1, neighbour)] = k * n + pod
    return talks, hears


CHECKS = (
    FindingsCheck("decomposition", "lumoscore", "Symmetric integer matrix decomposition", run_decomposition),
    FindingsCheck(
        "realisable", "lumoscore", "Demands realised by cross wiring and by uniform wiring", run_realisable
    ),
    FindingsCheck("ports", "lumoscore", "Every port hears whom it talks to", run_ports),
)
