# SPDX-License-Identifier: Apache-2.0
"""LumosCore's changes of circuits: how few move; and what links from leaves to spines carry."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from controller.circuits import (
    allocate,
    allocate_by_spine,
    leaf_spine_load,
    leaf_split,
    pod_centric_split,
    pod_demand,
)
from papers.claims import Check, Measured, Progress, Values, over_seeds
from papers.claims.declare import between, changed, derived, stated
from papers.lumoscore.claims.circuits import SEED
from papers.lumoscore.load import full
from papers.lumoscore.ratios import SMALL, Method, full_ratios, ratios, two_pairs

__all__ = ["CHECKS", "run_leaves", "run_rewirings"]

_LEAF = "2603.28168, abstract"

_CROWDED = (
    "with no port spare each job's change changes what the others are given besides, a new circuit hardly "
    "ever finds both its ports free in one pair of switches, and shortest chains, one after the other, are "
    "no longer the best ones together"
)
_GREEDY = changed("one circuit after the other", method="greedy")

REWIRINGS = (
    stated(
        "two-pairs",
        "groups of two pairs of switches, 3 to 16 Pods: as few circuits move as in the exact program",
        100,
        "%",
        changed("the first circuits that fit", method="scratch"),
        place="LumosCore, appendix",
    ),
    derived(
        "spare",
        "one job's change, circuits made over the fewest, 7 shapes: mean of a seed",
        between(1, 1.2),
        "x",
        _GREEDY,
        place="exact program; 1.2 is a target of this project",
    ),
    derived(
        "crowded",
        "the same where no port is spare: mean of a seed",
        between(1, 1.2),
        "x",
        changed("from scratch", method="scratch"),
        place="exact program; 1.2 is a target of this project",
        expected=between(1.05, 1.6),
        reason=_CROWDED,
    ),
)


def run_rewirings(
    note: Progress,
    seeds: int = 10,
    draws: int = 200,
    shapes: Sequence[tuple[int, int, int]] = (),
    method: Method = "flow",
) -> Values:
    """Circuits that a change makes over the fewest by integer program, a mean over shapes for each seed."""
    import numpy as np

    shapes = shapes or SMALL
    spare: list[float] = []
    crowded: list[float] = []
    others: dict[str, list[float]] = {}
    for number in range(seeds):
        seed = SEED + number
        note(f"seed {number + 1}", 0.8 * number / seeds)
        every = [ratios(shape, [seed], 2) for shape in shapes]
        spare.append(float(np.mean([value for some in every for value in some[method]])))
        crowded.append(float(np.mean([full_ratios(shape, [seed], method) for shape in shapes])))
        for name in every[0]:
            others.setdefault(name, []).append(
                float(np.mean([value for some in every for value in some[name]]))
            )
    note("two pairs", 0.8)
    equal, kept, removed = two_pairs(
        draws,
        np.random.default_rng(SEED + 3),
        lambda share: note("two pairs", 0.8 + 0.2 * share),
        fresh=method == "scratch",
    )
    words = ", ".join(f"{name} {float(np.median(values)):.3f}" for name, values in others.items())
    return {
        "two-pairs": Measured(100 * equal / draws, detail=f"{kept:,} stayed, {removed:,} went"),
        "spare": over_seeds(spare, f"medians: {words}"),
        "crowded": over_seeds(crowded, f"{max(crowded):.2f} at worst"),
    }


LEAVES = (
    *(
        claim
        for tau in (2, 4)
        for claim in (
            derived(
                f"leaf-{tau}",
                f"{tau} links from a leaf to a spine, leaf-centric: most flows on them",
                between(1, tau),
                "flows",
                changed("Pod-centric", pod_centric=True),
                place=_LEAF,
            ),
            derived(
                f"whole-{tau}",
                f"{tau} links, leaf-centric: demands realised whole",
                100,
                "%",
                changed("one spine's circuits left out", short=True),
                place=_LEAF,
            ),
            stated(
                f"pod-{tau}",
                f"{tau} links, Pod-centric, flows on circuits by hash: demands that overload a link",
                "some",
                "%",
                changed("leaf-centric", leaf_centric=True),
                place=f"{_LEAF}: routing polarization",
                holds=between(1, 100),
            ),
        )
    ),
    derived(
        "leaf-1",
        "1 link from a leaf to a spine, leaf-centric: most flows on it",
        2,
        "flows",
        changed("Pod-centric", pod_centric=True),
        place="a symmetric split of one is an edge colouring",
    ),
)


def run_leaves(
    note: Progress,
    draws: int = 200,
    *,
    pod_centric: bool = False,
    leaf_centric: bool = False,
    short: bool = False,
) -> Values:
    """Return the loads of links from leaves to spines under demands that use every link.

    Args:
        note: told of the progress.
        draws: number of demands for each number of links.
        pod_centric: the Pod-centric split stands in for the leaf-centric one.
        leaf_centric: the leaf-centric split stands in for the Pod-centric one.
        short: circuits of the first spine are left out.
    """
    result: dict[str, Measured | float] = {}
    for place, tau in enumerate((2, 4, 1)):
        loads = _Loads(tau, draws, lambda share, at=place: note("leaves", (at + share) / 3), short=short)
        leaf, pod = (loads.pod, loads.pod) if pod_centric else (loads.leaf, loads.pod)
        if leaf_centric:
            pod = leaf
        over = sum(load > tau for load in pod)
        crowded = f"{sum(load > tau for load in leaf)} of {draws} demands overload some link"
        result[f"leaf-{tau}"] = Measured(max(leaf), detail=crowded)
        if tau > 1:
            result[f"whole-{tau}"] = 100 * loads.realised / draws
            words = f"{100 * loads.over / loads.links:.0f} % of all links, {max(pod)} flows on {tau} at worst"
            result[f"pod-{tau}"] = Measured(100 * over / draws, detail=words)
    return result


class _Loads:
    """Most flows on a link for each demand, by the leaf-centric and by the Pod-centric split."""

    def __init__(self, tau: int, draws: int, note: Callable[[float], None], *, short: bool) -> None:
        import numpy as np

        rng = np.random.default_rng(SEED + 4 + tau)
        self.leaf: list[int] = []
        self.pod: list[int] = []
        self.realised = self.links = self.over = 0
        for draw in range(draws):
            note(draw / draws)
            pods, each = int(rng.integers(2, 7)), 2 * int(rng.integers(1, 3))
            spines = int(rng.integers(2, 9))
            demand = full(rng, pods * each, spines * tau)
            split = leaf_split(demand, spines, tau)
            self.leaf.append(int(leaf_spine_load(split).max()))
            counts = pod_demand(split, each)
            if tau > 1:
                realised = allocate_by_spine(counts, each * tau).counts.copy()
                realised[: int(short)] = 0
                self.realised += bool((realised == counts).all())
            among = allocate(pod_demand(demand, each), spines, each * tau).counts
            load = leaf_spine_load(pod_centric_split(demand, each, among, rng))
            self.pod.append(int(load.max()))
            self.links += load.size
            self.over += int((load > tau).sum())


CHECKS = (
    Check("rewirings", "lumoscore", "circuits moved, beside the exact program", REWIRINGS, run_rewirings),
    Check("leaf-centric", "lumoscore", "links from leaves to spines are not overloaded", LEAVES, run_leaves),
)
