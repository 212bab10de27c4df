# SPDX-License-Identifier: Apache-2.0
"""Direct notification against flooding: data under a failed link, then the controllers alone, up to a Pod.

Exit code 1 when something is not as the README says. `--all` takes every link of the racks, not a sample.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from controller import Mode, Plan, make_plan
from controller.recovery.notification import Costs, Notification, NotificationReport
from harness.report.figures.comparison_charts import Samples, distributions_svg
from harness.sweeps.cases import sample_pairs
from papers.checking.statements import say
from papers.ub_mesh.figures.recovery import job_pairs
from railyard.command import railyard
from topologies.families.registry import build

HERE = Path(__file__).parent
US = 10**6
COSTS = Costs(detect_ps=US, processing_ps=US)
MODES: tuple[Mode, ...] = ("direct", "flooding")


def data() -> dict[str, bool]:
    with tempfile.TemporaryDirectory() as folder:
        return {
            "a rack: all assertions hold": not railyard("run", HERE / "scenario.yaml", "--out", folder),
            "a small Pod: all assertions hold": not railyard("run", HERE / "pod.yaml", "--out", folder),
            "twelve pairs of the Pod's links fail: right data": not railyard(
                "sweep", HERE / "pod.yaml", "--cut-each", "pair:12", "--out", f"{folder}/pairs"
            ),
        }


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


def controllers(every: bool) -> tuple[dict[str, bool], Table, str]:
    table = Table(caption="middle and largest; µs from the failure to the last repaired source")
    for column in ("fabric", "told", "cut", "runs", "know", "messages", "repaired", "left on dead paths"):
        table.add_column(column)
    panels: dict[str, list[Samples]] = {}
    stranded = 0
    earlier = True
    for name, plan in plans().items():
        chosen = cases(plan, every)
        ran = {mode: [run.fail(case) for case in chosen] for mode, run in _runs(plan).items()}
        for index, mode in enumerate(MODES):
            for number in (1, 2):
                _row(table, name, mode, [told for told in ran[mode] if len(told.links) == number])
            single = [told.repaired_ps / US for told in ran[mode] if len(told.links) == 1]
            panels.setdefault(name, []).append(Samples(index, mode, single))
            stranded += sum(told.stranded for told in ran[mode])
        both = [pair for pair in zip(ran["direct"], ran["flooding"], strict=True) if len(pair[0].links) == 1]
        earlier &= all(item.repaired_ps <= other.repaired_ps + 50_000 for item, other in both)
    checks = {
        "no source is left on a dead path": not stranded,
        # Some ns later it can be: two links instead of one, and notices that wait for one another.
        "one link: told directly, the last source is no later than by flooding, but for 50 ns": earlier,
    }
    return checks, table, distributions_svg(panels)


def _runs(plan: Plan) -> dict[Mode, Notification]:
    return {mode: Notification(plan, mode, COSTS) for mode in MODES}


def _row(table: Table, name: str, mode: str, told: Sequence[NotificationReport]) -> None:
    figures = (
        _shown([len(item.informed) for item in told]),
        _shown([item.messages for item in told]),
        _shown([item.repaired_ps / US for item in told]),
        str(sum(item.stranded for item in told)),
    )
    table.add_row(name, mode, f"{len(told[0].links)}", str(len(told)), *figures)


def _shown(values: Sequence[float]) -> str:
    return f"{median(values):,.6g}, {max(values):,.6g}"


def main() -> int:
    result = data()
    more, table, picture = controllers("--all" in sys.argv[1:])
    Console(width=150).print(table)
    target = Path("results", "recovery")
    target.mkdir(parents=True, exist_ok=True)
    (target / "notification.svg").write_text(picture + "\n")
    print(f"written: {target / 'notification.svg'}")
    return say(result | more)


if __name__ == "__main__":
    sys.exit(main())
