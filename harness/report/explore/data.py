# SPDX-License-Identifier: Apache-2.0
"""Values for the script of report.html: variants, arriving data and events over time, links by load."""

from __future__ import annotations

import json
from collections.abc import Mapping
from heapq import nsmallest
from typing import Any

from harness.report.charts import curves
from harness.report.figures.plot import colour
from harness.report.figures.run_charts import end_us
from harness.run.observation.variant_run import VariantRun, busy_share
from harness.scenario.schema import Scenario

__all__ = ["MAX_LINKS", "explorer_json", "links_by_load"]

MAX_LINKS = 300
"""Number of links of a variant in the table, the busiest links; links that lost frames come in addition."""


def explorer_json(scenario: Scenario, runs: Mapping[str, VariantRun]) -> str:
    """Return the script's values as JSON, safe inside a <script> element; times are in microseconds."""
    variants = [
        {
            "label": variant.label,
            "colour": colour(index),
            **_over_time(runs[variant.name]),
            "links": links_by_load(runs[variant.name]),
        }
        for index, variant in enumerate(scenario.variants)
    ]
    # The slider covers the time axis of the chart of arriving data, and the ends of its variants, whose last
    # result may come after the last data.
    drawn = curves(scenario, runs)
    axis = end_us(drawn)
    ends = [variants[curve.index]["end_us"] for curve in drawn if not curve.failed]
    times = {"axis_us": axis, "end_us": max([axis, *ends])}
    text = json.dumps({**times, "variants": variants}, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("&", "\\u0026")


def _over_time(run: VariantRun) -> dict[str, Any]:
    seen = run.observation
    return {
        "end_us": seen.completion_ps / 10**6,
        "bin_us": seen.timeline.bin_ps / 10**6,
        "delivered": list(seen.timeline.delivered),
        "events": [[at_ps / 10**6, text] for at_ps, text in sorted(_events(run))],
        "cuts": [
            [fault.at_ps / 10**6, fault.event == "down", link]
            for fault in seen.faults
            if fault.event in ("down", "up")
            for link in fault.links or (fault.target,)
        ],
    }


def _events(run: VariantRun) -> list[tuple[int, str]]:
    """Return the events of a run, each as (time in ps, text)."""
    seen = run.observation
    events = [(fault.at_ps, fault.text) for fault in seen.faults]
    if seen.faults and seen.recovery.converged_ps is not None:
        events.append((seen.recovery.converged_ps, "last table entry rewritten"))
    events += [(takeover.at_ps, str(takeover)) for takeover in seen.takeovers]
    for job in seen.jobs:
        events.append((job.begun_ps, f"job {job.name} begins"))
        events.append((job.begun_ps + job.completion_ps, f"job {job.name} ends"))
    if seen.deadlock is not None:
        events.append((seen.deadlock.at_ps, "deadlock: no frame moves any more"))
    else:
        events.append((seen.completion_ps, "the last NPU has its result"))
    return events


def links_by_load(run: VariantRun) -> list[list[Any]]:
    """Return a row for each of the MAX_LINKS busiest links, and for further links with lost frames.

    Rows are ordered by the busy share of a link's busier direction.

    A row has: name, busy share from the first end and from the second end in percent, bytes from both ends,
    frames from both ends, lost or refused frames, and the longest queue in bytes.
    """
    usage = run.observation.link_usage
    shares = busy_share(run)
    busiest = {name: round(100 * max(pair), 2) for name, pair in shares.items()}
    lost = {
        name: there.lost_frames + there.refused_frames + back.lost_frames + back.refused_frames
        for name, (there, back) in usage.items()
    }

    def rank(name: str) -> tuple[float, str]:
        return -busiest[name], name

    names = nsmallest(MAX_LINKS, usage, rank)
    names += sorted({name for name in usage if lost[name]}.difference(names), key=rank)
    rows: list[list[Any]] = []
    for name in names:
        there, back = usage[name]
        rows.append(
            [
                name,
                *(round(100 * share, 2) for share in shares[name]),
                *(there.bytes, back.bytes, there.frames, back.frames, lost[name]),
                max(there.max_queued_bytes, back.max_queued_bytes),
            ]
        )
    return rows
