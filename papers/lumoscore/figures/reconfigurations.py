# SPDX-License-Identifier: Apache-2.0
"""Compare LumosCore's changes of circuits with the fewest possible; load the links from leaves to spines."""

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
from papers.claims import Measured, Progress, Values, over_seeds
from papers.lumoscore.figures.circuits import SEED
from papers.lumoscore.load import full
from papers.lumoscore.ratios import SMALL, Method, full_ratios, ratios, two_pairs


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
        loads = _Loads(tau, draws, lambda share, at=index: note("leaves", (at + share) / 3), short=short)
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
    """Largest number of flows on a link for each demand, by the leaf-centric and the Pod-centric split.

    `realised` counts demands whose circuits exist in full. Of the `links` links of all demands, the
    Pod-centric split overloads `over`.
    """

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
