# SPDX-License-Identifier: Apache-2.0
"""Runs SimAI's example workloads here and in SimAI's analytical mode, and compares the parts of an iteration.

Both get the same layers and ranks; here all bytes and all times of computations are a part of the file's,
and times are divided by it again. SimAI's program and workloads are not part of this project; without them
nothing is compared. Prints the figures as Markdown tables, and draws the parts of all layers if a picture is
named; exit code 1 if data are wrong, or a part of some weight is further from SimAI's than EXPECTED.
"""

import argparse
import itertools
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from fabric import GPUS
from ruamel.yaml import YAML
from theirs import PARTS, part_of, their_times

from papers.checking.statements import heading, say
from railyard.command import railyard, result_of

HERE = Path(__file__).resolve().parent


@final
@dataclass(frozen=True)
class Case:
    """A workload, its ranks, the part of all bytes and times, its first layers (None: all)."""

    workload: str
    ranks: int
    scale: float
    layers: int | None = None

    @property
    def text(self) -> str:
        layers = "all layers" if self.layers is None else f"the first {self.layers} layers"
        return f"{self.workload}, {self.ranks} ranks, {layers}, {self.scale:g} of all bytes and times"


ALL_LAYERS = Case("workload_analytical", 32, 2.0**-8)
CASES = {
    "micro": Case("microAllReduce", 8, 1.0),
    # The layers with data-parallel collectives, of experts among two ranks.
    "data-parallel": Case("workload_analytical", 64, 2.0**-12, layers=6),
    # Of a single iteration over the layers of the model, with several scales.
    "coarse": Case("workload_analytical", 32, 2.0**-10, layers=80),
    "fine": Case("workload_analytical", 32, 2.0**-8, layers=80),
    "all": ALL_LAYERS,
}
# Room for all frames under way at every port: SimAI's network has no back-pressure.
CREDIT_BYTES = 8 << 20
# Time here over SimAI's with the same rates for every size.
EXPECTED = {
    "computations": (0.999, 1.001),
    "tensor-parallel collectives": (1.0, 1.5),
    "expert-parallel all-to-alls": (1.0, 1.35),
    "data-parallel collectives": (1.0, 3.5),
}
# Share of an iteration below which a part is not judged.
LIGHT = 0.01
_GROUPS = {"tp": "tensor-parallel collectives", "ep": "expert-parallel all-to-alls"}

Times = Mapping[str, float]


def our_times(workload: Path, case: Case, folder: Path) -> Times:
    """Import and run a case on servers of eight GPUs; return the milliseconds of each part by NPU 0.

    Collectives of weights overlap and end last: their part is the rest of the iteration. Nothing is returned
    if data are wrong.
    """
    options = ["--ranks", str(case.ranks), "--scale", repr(case.scale)]
    if case.layers is not None:
        options += ["--layers", str(case.layers)]
    if railyard("import", "simai", workload, *options, "--out", folder):
        return {}
    scenario = folder / "scenario.yaml"
    document = YAML().load(scenario)
    document["topology"] = {
        "python": f"{HERE / 'fabric.py'}:servers",
        "params": {"count": case.ranks // GPUS},
    }
    document["variants"][0].update(routing={"strategy": "equal-cost"}, link={"credit_bytes": CREDIT_BYTES})
    YAML().dump(document, scenario)
    code, result = result_of(scenario, "--no-report", "--quiet", folder=folder / "out")
    if code:
        return {}
    return parts_of(result["operations"]["run"], case.scale)


def parts_of(operations: Sequence[Mapping[str, Any]], scale: float) -> Times:
    """Return the milliseconds of each part, as the whole workload would have them."""
    own = {row["id"]: row for row in operations if row["members"] == ["npu0"]}
    parts = dict.fromkeys(PARTS, 0.0)
    for name, row in own.items():
        label = name.removesuffix(".end@npu0")
        if label == name:
            parts["computations"] += row["end_us"] - row["begin_us"]
        elif (group := label.rpartition(".")[2].rstrip("0123456789")) in _GROUPS:
            parts[_GROUPS[group]] += row["end_us"] - own[f"{label}@npu0"]["end_us"]
    whole = max(row["end_us"] for row in operations)
    parts["data-parallel collectives"] = whole - sum(parts.values())
    return {part: time / scale / 1000 for part, time in parts.items()}


def table(ours: Times, full: Times, lower: Times) -> list[str]:
    """Return the lines of a table: a part a line, then the whole."""
    titles = ("here", "SimAI, full rates", "ratio", "SimAI, its tables", "ratio")
    lines = [heading("part of an iteration, ms", *titles)]
    rows = {part: (ours[part], full[part], lower[part]) for part in PARTS if full[part] or lower[part]}
    rows["together"] = (sum(ours.values()), sum(full.values()), sum(lower.values()))
    for part, (here, at_full, by_tables) in rows.items():
        lines.append(
            f"| {part} | {here:,.2f} | {at_full:,.2f} | {here / at_full:.3f} | {by_tables:,.2f} | "
            f"{here / by_tables:.3f} |"
        )
    return lines


def draw(picture: Path, bars: Mapping[str, Times]) -> None:
    """Draw the parts of an iteration, a bar a simulator."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 2.4), layout="constrained")
    axes = figure.subplots()
    for part in PARTS:
        starts = [sum(itertools.islice(times.values(), [*PARTS].index(part))) for times in bars.values()]
        axes.barh([*bars], [times[part] for times in bars.values()], left=starts, label=part)
    axes.invert_yaxis()
    axes.set(xlabel="time of an iteration, ms")
    figure.legend(loc="outside lower center", ncols=2)
    with rc_context({"svg.hashsalt": "42"}):
        figure.savefig(picture, metadata={"Date": None} if picture.suffix == ".svg" else None)


def main() -> int:
    """Compare both workloads; 0 without SimAI."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--simai", type=Path, help="the program SimAI_analytical")
    parser.add_argument("--checkout", type=Path, help="checkout of SimAI, for its workloads and tables")
    parser.add_argument("--only", nargs="+", choices=CASES, default=[*CASES], help="cases")
    parser.add_argument("--picture", type=Path, help="file for the parts of an iteration")
    chosen = parser.parse_args()
    if chosen.simai is None or chosen.checkout is None:
        print("skipped: needs SimAI, github.com/aliyun/SimAI: --simai PROGRAM --checkout FOLDER")
        return 0
    checks: dict[str, bool] = {}
    for name in chosen.only:
        case = CASES[name]
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            example = chosen.checkout / "example" / f"{case.workload}.txt"
            workload = part_of(example, case.ranks, case.layers, folder)
            lower, full = (
                their_times(chosen.simai, chosen.checkout, workload, tables=tables)
                for tables in (True, False)
            )
            ours = our_times(example, case, folder / "imported")
        checks[f"{case.text}: every collective ends, all data are right"] = bool(ours)
        if not ours:
            continue
        print(f"\n{case.text}\n")
        print("\n".join(table(ours, full, lower)), flush=True)
        for part, (low, high) in EXPECTED.items():
            if full[part] > LIGHT * sum(full.values()):
                ratio = ours[part] / full[part]
                checks[f"{case.text}: {part} take {ratio:.3f} of SimAI's time"] = low <= ratio <= high
        if chosen.picture is not None and case == ALL_LAYERS:
            draw(chosen.picture, {"here": ours, "SimAI, full rates": full, "SimAI, its tables": lower})
    return say(checks)


if __name__ == "__main__":
    sys.exit(main())
