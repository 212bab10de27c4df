# SPDX-License-Identifier: Apache-2.0
"""Figures beside limits or beside a paper's, and the timeline of a traffic graph's run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log
from pathlib import Path
from typing import final

import railyard
from emulation.fidelity import Measured, judge
from harness.report.figures.operations import OPERATIONS_STYLE, operations_svg
from harness.scenario.loader import load
from papers.training.interconnect import mesh
from papers.training.workload import Op
from papers.ub_mesh.cost import capex_ratio, fit_prices
from papers.ub_mesh.networks import clos, one_d_a, one_d_b, two_d_clos
from scripts.pictures.svg import Box, picture, stroke, text

__all__ = ["capex", "ccu", "completion", "lane_ratios", "limits", "traffic_graph"]

EXPERIMENTS = Path(__file__).resolve().parents[2] / "experiments"
SHEET = """svg { color: #1c2127; }
@media (prefers-color-scheme: dark) { svg { color: #e4e8ec; } }"""

LEFT, SPAN, ROW = 280.0, 320.0, 30.0


@final
@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of a length from 0 to 1, with its label, the words behind it, and a mark at another length."""

    label: str
    length: float
    words: str
    style: str = "blue"
    mark: float | None = None

    def svg(self, y: float) -> list[str]:
        """Return the bar, whose upper edge is at height `y`."""
        parts = [text(LEFT - 8, y + 15, self.label, "small right")]
        parts += Box(LEFT, y + 4, SPAN * min(self.length, 1.0), 15, (), self.style).svg()
        end = max(self.length, self.mark or 0.0)
        parts.append(text(LEFT + SPAN * min(end, 1.0) + 8, y + 15, self.words, "small left"))
        if self.mark is not None:
            parts.append(stroke(f"M{LEFT + SPAN * self.mark:g} {y:g}v23", "mark"))
        return parts


def bars_picture(title: str, bars: Sequence[Bar], note: str) -> str:
    """Return a picture of bars, one below the other, with a note below."""
    parts = [part for number, bar in enumerate(bars) for part in bar.svg(12 + ROW * number)]
    bottom = 12 + ROW * len(bars)
    return picture(
        LEFT + SPAN + 150, bottom + 28, title, [*parts, text(LEFT, bottom + 16, note, "small left")]
    )


def completion(experiment: str, title: str) -> str:
    """Draw the completion time of each variant of an experiment; by logarithm if they differ fiftyfold."""
    result = railyard.run(EXPERIMENTS / experiment / "scenario.yaml")
    scenario = load(EXPERIMENTS / experiment / "scenario.yaml")[0]
    times = {
        variant.title or variant.name: float(result.metric(variant.name, "completion_us"))
        for variant in scenario.variants
    }
    least, most = min(times.values()) / 2, 1.05 * max(times.values())
    logarithmic = most > 50 * least
    lengths = [
        log(time / least) / log(most / least) if logarithmic else time / most for time in times.values()
    ]
    bars = [
        Bar(label, length, f"{time:,.2f}")
        for (label, time), length in zip(times.items(), lengths, strict=True)
    ]
    return bars_picture(title, bars, "time, µs" + (", on a logarithmic scale" if logarithmic else ""))


def limits() -> str:
    """Draw the share of each limit that the hurried run of the guide to fidelity used up."""
    calm = Measured(
        dilation=40_000, seconds=1.2, stated_bps=10e6, offered_bytes=12_000_000, sent_bytes=11_900_000,
        lateness_us=(80, 900, 6_000), waiting_us=(2_000, 41_000, 90_000),
        cpu_busy=0.62, busiest=("switch npu3", 0.35), drops={"veth": 0, "fault": 12}, shaped=True, steps=4,
    )  # fmt: skip
    hurried = replace(calm, dilation=10_000, seconds=0.6, sent_bytes=9_000_000, cpu_busy=0.98)
    bars = [
        Bar(check.what, min(check.used, 2.0) / 2, f"{check.value}", "blue" if check.holds else "orange", 0.5)
        for check in judge(hurried).checks
    ]
    return bars_picture(
        "Limits of a run in real time",
        bars,
        "share of each limit that a run used up; orange: the limit is not kept",
    )


def capex() -> str:
    """Draw the CapEx of networks in place of UB-Mesh's, and the paper's ratios."""
    prices = fit_prices()
    networks = ((two_d_clos(), 1.18), (one_d_a(), 1.26), (one_d_b(), None), (clos(32), None), (clos(), 2.46))
    ratios = [(parts.name, capex_ratio(parts, prices), paper) for parts, paper in networks]
    most = 1.05 * max(max(ours, paper or 0) for _, ours, paper in ratios)
    bars = [
        Bar(
            name,
            ours / most,
            f"{ours:.2f}x" + (f", paper {paper:.2f}x" if paper else ""),
            mark=paper / most if paper else None,
        )
        for name, ours, paper in ratios
    ]
    return bars_picture(
        "CapEx against UB-Mesh", bars, "times the CapEx of UB-Mesh; the mark is the paper's figure"
    )


def ccu() -> str:
    """Draw the memory traffic of an AllReduce by cores and by the CCU, measured with a small array."""
    elements, nodes = 1 << 14, 64
    variants = [{"name": by, "hosts": {"reduction": by}} for by in ("core", "ccu")]
    result = railyard.run(
        {
            "name": "ccu",
            "topology": {"name": "full-mesh", "dims": [8, 8]},
            "collective": {"elements": elements, "payload_bytes": 1024},
            "variants": variants,
        }
    )
    arrays = {
        f"{label}, {word}": result.metric(by, f"memory_{word}_bytes") / (4 * elements * nodes)
        for by, label in (("core", "cores"), ("ccu", "CCU"))
        for word in ("read", "written")
    }
    most = 1.05 * max(arrays.values())
    bars = [Bar(label, value / most, f"{value:.2f}") for label, value in arrays.items()]
    return bars_picture(
        "Memory traffic of an AllReduce", bars, "arrays of an NPU through its memory, 64 NPUs in 8 x 8"
    )


def lane_ratios() -> str:
    """Draw the time of an all-gather by dimension and lane ratio, on 4 x 4 NPUs, with the model as a mark."""
    elements, lane_bps = 1 << 16, 100e9
    ratios = {"4:4": [4, 4], "6:2": [6, 2], "7:1": [7, 1]}
    groups = {"boards": "x", "columns": "y"}
    variants = [
        {"name": f"{where}-{number}", "lanes": lanes, "collective": {"parts": parts}}
        for number, lanes in enumerate(ratios.values())
        for place, where in enumerate(groups)
        for parts in [[{"kind": "all-gather", "share": 1, "over": [place]}]]
    ]
    collective = {"kind": "mixture", "algorithm": "sequential", "elements": elements, "payload_bytes": 1024}
    mesh_4x4 = {"name": "full-mesh", "dims": [4, 4]}
    scenario = {"name": "ratios", "topology": mesh_4x4, "collective": collective, "variants": variants}
    result = railyard.run({**scenario, "routing": {"strategy": "shortest"}})
    measured, modelled = {}, {}
    for where, axis in groups.items():
        for number, (ratio, lanes) in enumerate(ratios.items()):
            label = f"{where}, {ratio}"
            measured[label] = float(result.metric(f"{where}-{number}", "completion_us"))
            share = mesh((4, 4), lanes).share(Op.allgather, ((axis, 4),))
            modelled[label] = share * 4 * elements * 8 / lane_bps * 1e6
    most = 1.05 * max(measured.values())
    bars = [
        Bar(label, time / most, f"{time:.2f} µs", mark=modelled[label] / most)
        for label, time in measured.items()
    ]
    return bars_picture("All-gather of 256 KiB", bars, "Dx:Dy, 4 x 4 NPUs; mark: the model, data alone")


def traffic_graph() -> str:
    """Draw the operations of the pipeline of experiment 23, from a run."""
    result = railyard.run(EXPERIMENTS / "23_traffic_graph" / "scenario.yaml", variant="pipeline")
    drawn = operations_svg(result.runs["pipeline"].observation.operations)
    head, rest = drawn.split(">", 1)
    return f"{head}>\n<style>{SHEET}{OPERATIONS_STYLE}</style>{rest}\n"
