# SPDX-License-Identifier: Apache-2.0
"""A scenario on every testbed that this machine carries, for the checks of experiments."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = ["TESTBEDS", "available", "differing", "table"]

TESTBEDS = {
    "embedded": ["--testbed", "embedded"],
    "Mininet, built-in switch": ["--testbed", "mininet", "--switch", "builtin"],
    "Mininet, BMv2": ["--testbed", "mininet", "--switch", "bmv2"],
}
"""Options of `railyard run` by name of the testbed; the first testbed needs no rights."""

# Ends of metrics that depend on times, which a run in real time may not believe.
_TIMED = ("_us", "retransmitted_frames")


def available() -> tuple[list[str], list[str]]:
    """Return the testbeds that this machine can carry, and why it cannot carry the others."""
    names = list(TESTBEDS)
    if os.geteuid() != 0:
        return names[:1], ["not on Mininet, which takes root"]
    if shutil.which("simple_switch_grpc") is None:
        return names[:2], ["not on BMv2, which is not installed"]
    return names, []


def table(results: Mapping[str, Mapping[str, Any]], metrics: Iterable[str]) -> str:
    """Return metrics by testbed as a Markdown table; a question mark where times cannot be believed."""
    lines = ["| | " + " | ".join(results) + " |", "|---|" + "---:|" * len(results)]
    for metric in metrics:
        cells = (_figure(result, metric) for result in results.values())
        variant, _, name = metric.partition(".")
        lines.append(f"| {variant}: `{name}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def differing(results: Mapping[str, Mapping[str, Any]], names: Sequence[str]) -> list[str]:
    """Return metrics by these names, after their variant, that differ from those of the first testbed."""
    first = next(iter(results.values()), {"metrics": {}})["metrics"]
    return [
        f"{metric} on {testbed}"
        for testbed, result in results.items()
        for metric in first
        if metric.partition(".")[2] in names and result["metrics"][metric] != first[metric]
    ]


def _figure(result: Mapping[str, Any], metric: str) -> str:
    figure = result["metrics"][metric]
    variant = metric.partition(".")[0]
    believed = result.get("fidelity", {}).get(variant, {}).get("trustworthy", True)
    text = f"{figure:,.3f}" if isinstance(figure, float) else f"{figure:,}"
    return text if believed or not metric.endswith(_TIMED) else f"{text}?"
