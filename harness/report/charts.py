# SPDX-License-Identifier: Apache-2.0
"""Charts of a whole scenario, for both picture.svg and report.html."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import final

from harness.report.figures.run_charts import Bar, Curve, bars_svg, timeline_svg
from harness.run.observation.variant_run import VariantRun
from harness.scenario.schema import Scenario

__all__ = ["Charts", "curves"]

# Largest number of variants with different collectives whose arriving data a reader can tell apart.
_MOST_CURVES = 8
# Shorter words for events of faults in the timeline; other events keep their names.
EVENT_WORDS = {"down": "cut", "up": "back", "rate": "slower", "clear": "repaired"}


@final
class Charts:
    """Charts of a scenario's runs; each chart is drawn at its first use and then kept."""

    def __init__(self, scenario: Scenario, runs: Mapping[str, VariantRun]) -> None:
        self._scenario = scenario
        self._runs = runs

    @cached_property
    def completion_times(self) -> str:
        """SVG of the completion times of all variants, with their lower bounds; see bars_svg."""
        return bars_svg(
            [
                Bar(
                    index,
                    variant.label,
                    run.observation.completion_ps / 10**6,
                    run.bound_ps / 10**6,
                    run.doubtful,
                    _failure(run),
                )
                for index, variant in enumerate(self._scenario.variants)
                for run in (self._runs[variant.name],)
            ]
        )

    @cached_property
    def deliveries(self) -> str:
        """SVG of the rate of arriving data over time; see timeline_svg and curves."""
        real_time = any(run.fidelity for run in self._runs.values())
        clock = "scenario time" if real_time else "virtual time"
        return timeline_svg(curves(self._scenario, self._runs), clock)


def curves(scenario: Scenario, runs: Mapping[str, VariantRun]) -> list[Curve]:
    """Return the curves of arriving data for variants with a common time axis.

    These are the variants whose collective and traffic graph equal those of the first variant with a fault.
    Without faults, collectives of other kinds and algorithms on arrays of equal length share the axis as
    well, if a chart has room for all.
    """
    variants = scenario.variants
    model = next((variant for variant in variants if variant.faults), variants[0])
    alike = [(item.collective, item.graph) == (model.collective, model.graph) for item in variants]
    if not any(variant.faults for variant in variants) and len(variants) <= _MOST_CURVES:
        alike = [
            (item.collective.elements, item.graph) == (model.collective.elements, model.graph)
            for item in variants
        ]
    drawn = []
    for index, variant in enumerate(variants):
        if not alike[index]:
            continue
        seen = runs[variant.name].observation
        bin_us = seen.timeline.bin_ps / 10**6
        converged = seen.recovery.converged_ps
        drawn.append(
            Curve(
                index,
                variant.label,
                bin_us,
                [8 * delivered / (bin_us * 10**6) for delivered in seen.timeline.delivered],
                [(fault.at_ps / 10**6, EVENT_WORDS.get(fault.event, fault.event)) for fault in seen.faults],
                converged / 10**6 if seen.faults and converged is not None else None,
                bool(_failure(runs[variant.name])),
            )
        )
    return drawn


def _failure(run: VariantRun) -> str:
    """Return why a run has no correct result, in words; empty for a run with a correct result."""
    seen = run.observation
    if seen.deadlock is not None:
        return f"deadlock at {seen.deadlock.at_ps / 10**6:,.2f} µs"
    if seen.correct_nodes < seen.nodes:
        return f"failed at {seen.completion_ps / 10**6:,.2f} µs: {seen.correct_nodes} of {seen.nodes} correct"
    return ""
