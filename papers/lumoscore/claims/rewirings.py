# SPDX-License-Identifier: Apache-2.0
"""LumosCore's changes of circuits: how few move; and what links from leaves to spines carry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from papers.claims import Progress
from papers.claims.findings import Finding, FindingsCheck
from papers.lumoscore.claims.circuits import DERIVED, SEED, TARGET, holds, of

__all__ = ["CHECKS", "run_leaves", "run_rewirings"]

_LEAF = "2603.28168, abstract"

_MOST_MOVED = 1.2
_MOST_CROWDED = 1.5  # as known, where no port is spare


def run_rewirings(
    note: Progress, seeds: int = 8, draws: int = 200, shapes: Sequence[tuple[int, int, int]] = ()
) -> Sequence[Finding]:
    """Circuits that a change makes, over the fewest by integer program."""
    import numpy as np

    from papers.lumoscore.ratios import SMALL, full_ratios, ratios, two_pairs

    shapes = shapes or SMALL
    result: list[Finding] = []
    every: dict[str, list[float]] = {}
    crowded: list[float] = []
    for place, shape in enumerate(shapes):
        pods, spines, ports = shape
        note(f"{pods} Pods", 0.8 * place / len(shapes))
        some = ratios(shape, range(SEED, SEED + seeds), 2)
        for method, values in some.items():
            every.setdefault(method, []).extend(values)
        crowded.extend(full_ratios(shape, range(SEED, SEED + seeds)))
        result.append(_moved(f"{pods} Pods, {spines} spines of {ports} ports", some["flow"]))
    note("two pairs", 0.8)
    equal, kept, removed = two_pairs(
        draws, np.random.default_rng(SEED + 3), lambda share: note("two pairs", 0.8 + 0.2 * share)
    )
    return (
        Finding(
            "groups of two pairs of switches, 3 to 16 Pods: as many circuits stay as in the exact program",
            "LumosCore, appendix",
            "every time",
            f"{of(equal, draws)}; {kept:,} stayed, {removed:,} went",
            holds(equal == draws),
        ),
        _moved("all of the shapes below", every["flow"]),
        *result,
        *(
            Finding(f"all of them: {what}", "baseline here", "-", _ratio(every[method]), "not judged", why)
            for method, what, why in (
                ("greedy", "one circuit after the other", "shares over spines ignore what stands"),
                ("scratch", "from scratch", "what stands is not looked at"),
            )
        ),
        _crowded(crowded),
    )


def _moved(what: str, values: Sequence[float]) -> Finding:
    mean = sum(values) / len(values)
    return Finding(
        f"one job's change, circuits made over the fewest: {what}",
        TARGET,
        f"at most {_MOST_MOVED} on average",
        _ratio(values),
        holds(mean <= _MOST_MOVED),
    )


def _crowded(values: Sequence[float]) -> Finding:
    mean = sum(values) / len(values)
    good = mean <= _MOST_MOVED
    reason = (
        "With no port spare each job's change changes what the others are given besides, a new circuit hardly"
        " ever finds both its ports free in one pair of switches, and shortest chains, one after the other,"
        " are no longer the best ones together"
    )
    return Finding(
        "the same shapes where no port is spare: whatever jobs leave over is asked for too",
        TARGET,
        f"at most {_MOST_MOVED} on average",
        _ratio(values),
        holds(good),
        "" if good else reason,
        known=_MOST_MOVED < mean <= _MOST_CROWDED,
    )


def _ratio(values: Sequence[float]) -> str:
    return f"{sum(values) / len(values):.3f} on average, {max(values):.2f} at worst, {len(values)} changes"


def run_leaves(note: Progress, draws: int = 200) -> Sequence[Finding]:
    """Check the loads of links from leaves to spines under demands that use every link."""
    result: list[Finding] = []
    for place, tau in enumerate((2, 4, 1)):
        result.extend(_leaves(tau, draws, lambda share, at=place: note("leaves", (at + share) / 3)))
    return result


def _leaves(tau: int, draws: int, note: Callable[[float], None]) -> Iterable[Finding]:
    import numpy as np

    from controller.circuits import (
        allocate,
        allocate_by_spine,
        leaf_spine_load,
        leaf_split,
        pod_centric_split,
        pod_demand,
    )
    from papers.lumoscore.load import full

    rng = np.random.default_rng(SEED + 4 + tau)
    worst: list[int] = []
    by_pod: list[int] = []
    links = over = realised = 0
    for draw in range(draws):
        note(draw / draws)
        pods, each, spines = int(rng.integers(2, 7)), 2 * int(rng.integers(1, 3)), int(rng.integers(2, 9))
        demand = full(rng, pods * each, spines * tau)
        split = leaf_split(demand, spines, tau)
        worst.append(int(leaf_spine_load(split).max()))
        if tau == 1:
            continue
        counts = pod_demand(split, each)
        realised += bool((allocate_by_spine(counts, each * tau).counts == counts).all())
        among = allocate(pod_demand(demand, each), spines, each * tau).counts
        load = leaf_spine_load(pod_centric_split(demand, each, among, rng))
        by_pod.append(int(load.max()))
        links, over = links + load.size, over + int((load > tau).sum())
    if tau == 1:
        yield Finding(
            "1 link from a leaf to a spine: most flows on it",
            DERIVED,
            "2, one more than it carries",
            f"{max(worst)}; {of(sum(load > 1 for load in worst), draws)} demands overload some link",
            holds(max(worst) <= 2),
        )
        return
    yield Finding(
        f"{tau} links from a leaf to a spine, leaf-centric: most flows on them, all circuits realised",
        DERIVED,
        f"at most {tau}",
        f"{max(worst)}; {of(realised, draws)} demands realised",
        holds(max(worst) <= tau and realised == draws),
    )
    bad = sum(item > tau for item in by_pod)
    yield Finding(
        "the same demands, Pod-centric, flows on circuits by hash: demands that overload some link",
        _LEAF,
        "some do (routing polarization)",
        f"{of(bad, draws)}; {100 * over / links:.0f} % of all links, {max(by_pod)} flows on {tau} at worst",
        holds(bad > 0),
    )


CHECKS = (
    FindingsCheck("rewirings", "lumoscore", "Circuits moved, beside the exact program", run_rewirings),
    FindingsCheck("leaf-centric", "lumoscore", "Links from leaves to spines are not overloaded", run_leaves),
)
