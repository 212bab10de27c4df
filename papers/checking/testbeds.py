# SPDX-License-Identifier: Apache-2.0
"""Compare scenarios on every testbed of this machine, for the checks of experiments."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from papers.checking.statements import heading, say

__all__ = ["TESTBEDS", "available", "compare", "differing", "table"]

TESTBEDS = {
    "embedded": ["--testbed", "embedded"],
    "Mininet, built-in switch": ["--testbed", "mininet", "--switch", "builtin"],
    "Mininet, BMv2": ["--testbed", "mininet", "--switch", "bmv2"],
}
"""Options of `railyard run`, by name of the testbed; the first testbed does not need root."""

# Suffixes of metrics that depend on times; a run in real time may measure wrong times.
_TIMED = ("_us", "retransmitted_frames")


def available() -> tuple[list[str], list[str]]:
    """Return the testbeds that this machine can run, and for a missing testbed the reason."""
    names = list(TESTBEDS)
    if os.geteuid() != 0:
        return names[:1], ["Mininet was skipped: it needs root"]
    if shutil.which("simple_switch_grpc") is None:
        return names[:2], ["BMv2 was skipped: it is not installed"]
    return names, []


def compare(
    run: Callable[..., tuple[int, Mapping[str, Any]]],
    folder: Path,
    shown: Mapping[str, Sequence[str]],
    same: Sequence[str],
    options: Sequence[str] = (),
) -> int:
    """Run scenarios on every available testbed; print a table of metrics for each, and which checks hold.

    Args:
        run: runs a scenario with options of `railyard run`; returns the exit code and the result.
        folder: folder of the scenarios.
        shown: metrics of each scenario's table, by the name of its file without suffix.
        same: names of metrics, without the prefix VARIANT., that must be equal on all testbeds.
        options: further options of `railyard run`.

    Returns:
        The exit code, 1 when an assertion fails or a metric of `same` differs.
    """
    testbeds, absent = available()
    checks: dict[str, bool] = {}
    for name, metrics in shown.items():
        done = {item: run(folder / f"{name}.yaml", *TESTBEDS[item], *options) for item in testbeds}
        results = {testbed: result for testbed, (_, result) in done.items() if result}
        print(f"\n{table(results, metrics) if results else ''}\n")
        checks[f"{name}: all assertions hold"] = all(code == 0 for code, _ in done.values())
        wrong = differing(results, same)
        checks[
            f"{name}: the same arrays and data frames{', but ' if wrong else ''}{', '.join(wrong)}"
        ] = not wrong
    for why in absent:
        print(why)
    return say(checks)


def table(results: Mapping[str, Mapping[str, Any]], metrics: Iterable[str]) -> str:
    """Return metrics by testbed as a Markdown table; a question mark follows a time of an unfaithful run."""
    lines = [heading("", *results)]
    for metric in metrics:
        cells = (_figure(result, metric) for result in results.values())
        variant, _, name = metric.partition(".")
        lines.append(f"| {variant}: `{name}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def differing(results: Mapping[str, Mapping[str, Any]], names: Sequence[str]) -> list[str]:
    """Return the metrics that differ from those of the first testbed; `names` are without the variant."""
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
