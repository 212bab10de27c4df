# SPDX-License-Identifier: Apache-2.0
"""Compare LumosCore's changes of circuits with the fewest possible; load the links from leaves to spines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from controller.circuits import (
    allocate,
    allocate_by_spine,
    leaf_spine_load,
    leaf_split,
    pod_centric_split,
    pod_demand,
)
from papers.claims import Measured, Progress, Values, over_seeds
from papers.lumoscore.figures.circuits import SEED
from papers.lumoscore.load import full
from papers.lumoscore.ratios import METHODS, SMALL, Method, full_ratio, ratios, two_pairs


def run_reconfigurations(
    note: Progress,
    seeds: int = 10,
    draws: int = 200,
    shapes: Sequence[tuple[int, int, int]] = (),
    method: Method = "flow",
) -> Values:
    """Measure the circuits that a change creates, divided by the fewest possible (by integer program).

    Args:
        seeds: number of seeds; the value of a seed is a mean over shapes.
        draws: number of draws of two pairs of switches.
        shapes: Pods, spines and ports a spine; empty: SMALL.
        method: method to measure.
    """
    shapes = shapes or SMALL
    spare: dict[Method, list[float]] = {name: [] for name in METHODS}
    crowded: list[float] = []
    for number in range(seeds):
        seed = SEED + number
        note(f"seed {number + 1}", 0.8 * number / seeds)
        every = [ratios(shape, [seed], 2) for shape in shapes]
        for name, means in spare.items():
            means.append(float(np.mean([value for some in every for value in some[name]])))
        crowded.append(float(np.mean([full_ratio(shape, seed, method) for shape in shapes])))
    note("two pairs", 0.8)
    equal, kept, removed = two_pairs(
        draws,
        np.random.default_rng(SEED + 3),
        lambda share: note("two pairs", 0.8 + 0.2 * share),
        fresh=method == "scratch",
    )
    words = ", ".join(f"{name} {float(np.median(values)):.3f}" for name, values in spare.items())
    return {
        "two-pairs": Measured(100 * equal / draws, detail=f"{kept:,} stayed, {removed:,} went"),
        "spare": over_seeds(spare[method], f"medians: {words}"),
        "crowded": over_seeds(crowded, f"{max(crowded):.2f} at worst"),
    }


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
        draws: number of demands for each number of links.
        pod_centric: use the Pod-centric split in place of the leaf-centric split.
        leaf_centric: use the leaf-centric split in place of the Pod-centric split.
        short: leave out the circuits of the first spine.
    """
    result: dict[str, Measured | float] = {}
    for index, tau in enumerate((2, 4, 1)):
        rng = np.random.default_rng(SEED + 4 + tau)
        # Most flows on a link, for each demand.
        leaf: list[int] = []
        pod: list[int] = []
        whole = links = overloaded = 0
        for draw in range(draws):
            note("leaves", (index + draw / draws) / 3)
            pods, each = int(rng.integers(2, 7)), 2 * int(rng.integers(1, 3))
            spines = int(rng.integers(2, 9))
            demand = full(rng, pods * each, spines * tau)
            split = leaf_split(demand, spines, tau)
            leaf.append(int(leaf_spine_load(split).max()))
            if tau > 1:
                counts = pod_demand(split, each)
                realised = allocate_by_spine(counts, each * tau).counts.copy()
                realised[: int(short)] = 0
                whole += bool((realised == counts).all())
            among = allocate(pod_demand(demand, each), spines, each * tau).counts
            load = leaf_spine_load(pod_centric_split(demand, each, among, rng))
            pod.append(int(load.max()))
            links += load.size
            overloaded += int((load > tau).sum())
        if pod_centric:
            leaf = pod
        if leaf_centric:
            pod = leaf
        words = f"{sum(load > tau for load in leaf)} of {draws} demands overload some link"
        result[f"leaf-{tau}"] = Measured(max(leaf), detail=words)
        if tau > 1:
            result[f"whole-{tau}"] = 100 * whole / draws
            words = f"{100 * overloaded / links:.0f} % of all links, {max(pod)} flows on {tau} at worst"
            result[f"pod-{tau}"] = Measured(100 * sum(load > tau for load in pod) / draws, detail=words)
    return result
