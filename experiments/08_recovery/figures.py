# SPDX-License-Identifier: Apache-2.0
"""Direct notification against flooding by the controllers alone, in racks and in a Pod."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from statistics import median

from controller import Mode, Plan, make_plan
from controller.recovery.notification import Delays, Notification, NotificationReport
from harness.report.figures.comparison_charts import Samples, distributions_svg
from harness.sweeps.cases import sample_pairs
from papers.claims import Measured, Progress, Values
from papers.ub_mesh.figures.recovery import MODES, US, job_pairs
from topologies.families.registry import build

COSTS = Delays(detect_ps=US, processing_ps=US)


def plans() -> dict[str, Plan]:
    rack, switched, pod = (build(name) for name in ("ub-rack", "ub-rack-lrs", "ub-pod"))
    return {
        "ub-rack, all-path": make_plan(rack),
        "ub-rack, shortest": make_plan(rack, strategy="shortest"),
        "ub-rack-lrs, all-path": make_plan(switched),
        "ub-pod, shortest, an AllReduce's peers": make_plan(pod, strategy="shortest", peers=job_pairs(pod)),
    }


def cases(plan: Plan, every: bool) -> list[tuple[str, ...]]:
    """Single links and pairs of them, drawn by a seed; of a Pod a few."""
    links = [link.name for link in plan.fabric.links]
    pod = len(links) > 2000
    step = len(links) // 8 if pod else 1 if every else 37
    return [(link,) for link in links[::step]] + sample_pairs(links, 4 if pod else 12, seed=1)


@cache
def reports(every: bool) -> Mapping[str, Mapping[Mode, list[NotificationReport]]]:
    """Return what is reported of each failure, by plan and by the way in which news of it spreads."""
    result: dict[str, Mapping[Mode, list[NotificationReport]]] = {}
    for name, plan in plans().items():
        runs: dict[Mode, Notification] = {mode: Notification(plan, mode, COSTS) for mode in MODES}
        result[name] = {mode: [run.fail(case) for case in cases(plan, every)] for mode, run in runs.items()}
    return result


def controllers(note: Progress, every: bool = False) -> Values:
    """Return sources left on dead paths, and how much later a source is repaired when it is told directly."""
    note("planning and failing links", 0.0)
    stranded = 0
    later, words = 0.0, []
    for name, ran in reports(every).items():
        stranded += sum(told.stranded for told in (*ran["direct"], *ran["flooding"]))
        single = [
            (told, other)
            for told, other in zip(ran["direct"], ran["flooding"], strict=True)
            if len(told.links) == 1
        ]
        later = max(later, *((told.repaired_ps - other.repaired_ps) / 1000 for told, other in single))
        known = median([len(told.informed) for told, _ in single])
        repaired = [median([side.repaired_ps for side in sides]) / US for sides in zip(*single, strict=True)]
        words.append(f"{name}: {known:g} know, repaired after {repaired[0]:.2f} and {repaired[1]:.2f} us")
    return {"stranded": stranded, "later": Measured(later, detail="; ".join(words))}


def picture() -> str:
    """Draw the distributions of the times of repair after single failures."""
    return distributions_svg(
        {
            name: [
                Samples(index, mode, [told.repaired_ps / US for told in ran[mode] if len(told.links) == 1])
                for index, mode in enumerate(MODES)
            ]
            for name, ran in reports(False).items()
        }
    )
