# SPDX-License-Identifier: Apache-2.0
"""Figures of AllReduces in switches: bytes that leave a host, throughput by slots beside its formula."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from controller.trees.bounds import round_trip_ps
from emulation.traffic.frames.values import VALUE_BYTES
from emulation.traffic.frames.wire import DATA_HEADER_BYTES, SRH_BYTES
from emulation.traffic.tree.wire import FRAME_BYTES
from harness.report.figures.plot import colour, new_figure, svg_of
from harness.run.prepare import Prepared, prepare
from harness.scenario.loader import load

FOLDER = Path(__file__).parent
_DELAYS = {"near": "spines 250 ns away", "far": "spines 1,000 ns away"}
SIZES = {"4k": 4096, "4m": 4 << 20}


def bytes_out(result: Mapping[str, Any]) -> dict[str, float]:
    """Return by VARIANT.host_bytes the bytes of data frames that leave a host, over those of its array.

    A contribution has 302 bytes, with the source route to its first switch. A frame of another algorithm has
    54 bytes of headers, and all of them together 2 (N - 1)/N of the array as payload.
    """
    metrics = result["metrics"]
    figures: dict[str, float] = {}
    for name in {key.partition(".")[0] for key in metrics}:
        size = SIZES[name.rpartition("-")[2]]
        hosts = metrics[f"{name}.npus"]
        frames = (metrics[f"{name}.sent_frames"] + metrics[f"{name}.retransmitted_frames"]) / hosts
        if name.startswith("tree"):
            left = frames * (FRAME_BYTES + SRH_BYTES)
        else:
            left = frames * DATA_HEADER_BYTES + 2 * (hosts - 1) / hosts * size
        figures[f"{name}.host_bytes"] = left / size
    return figures


def throughput(result: Mapping[str, Any]) -> dict[str, float]:
    """Return by VARIANT.gbps the data that a GPU sends in a second, and by VARIANT.formula what slots allow.

    The formula is the smaller of two rates: values on the slowest link, those of all slots in a round trip.
    """
    figures: dict[str, float] = {}
    for ready in (*_prepared("slots.yaml"), *_prepared("slots-far.yaml")):
        (job,) = ready.jobs
        assert job.trees is not None
        name, plan = ready.variant.name, job.trees
        (tree,) = plan.trees
        trip_s = round_trip_ps(ready.fabric, tree, FRAME_BYTES) / 10**12
        rate = min(link.rate_bps for link in tree.links.values()) * VALUE_BYTES / FRAME_BYTES
        bits = 8 * VALUE_BYTES * plan.work.blocks
        figures[f"{name}.gbps"] = bits / result["metrics"][f"{name}.completion_us"] / 1000
        figures[f"{name}.formula"] = min(rate, 8 * VALUE_BYTES * plan.slots / trip_s) / 10**9
    return figures


def picture(result: Mapping[str, Any]) -> str:
    """Draw throughput over slots for both delays, beside the formula."""
    figures = throughput(result)
    figure, axes = new_figure(height=2.6)
    slots = [1 << power for power in range(9)]
    for index, (delay, words) in enumerate(_DELAYS.items()):
        formula, measured = ([figures[f"{delay}-{s}.{key}"] for s in slots] for key in ("formula", "gbps"))
        axes.plot(slots, formula, "--", color=colour(index), linewidth=1)
        axes.plot(slots, measured, "o-", color=colour(index), label=words, markersize=4)
    axes.set_xscale("log", base=2)
    axes.set_xticks(slots, list(map(str, slots)))
    axes.set_xlabel("slots of the tree")
    axes.set_ylabel("Gbit/s of data from each GPU")
    axes.legend(frameon=False)
    figure.tight_layout()
    return svg_of(figure, "switch-slots")


@cache
def _prepared(file: str) -> tuple[Prepared, ...]:
    return tuple(prepare(*load(FOLDER / file)))
