# SPDX-License-Identifier: Apache-2.0
"""Figures of claims: percentages of a study by reading, variant, model and span of lengths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.files import EXPERIMENTS
from papers.training.plot import plot_svg
from papers.training.study import READINGS, load, run, to_document

__all__ = ["percentages"]


def percentages(
    study: str, pairs: Sequence[Sequence[str]] = (), lane_gbps: float | None = None, *, twice: bool = True
) -> Mapping[str, float]:
    """Run a study and return its percentages of the baseline.

    Args:
        study: file of the study below `experiments/`.
        pairs: pairs of variants to compare for each model and length.
        lane_gbps: rate of a lane; None keeps the file's rate.
        twice: run the study a second time, and compare both results and plots.

    Returns:
        - READING.VARIANT: mean over all models and lengths.
        - READING.VARIANT.NAME: mean for the span, length or model NAME.
        - READING.FIRST-over-SECOND: for a pair of variants, the least difference over all models and lengths.
        - `differing`: with `twice`, 1 if the two runs differ in result or plot, else 0.
    """
    read = load(EXPERIMENTS / study)
    if lane_gbps is not None:
        assumptions = read.assumptions.model_copy(update={"lane_gbps": lane_gbps})
        read = read.model_copy(update={"assumptions": assumptions})
    first = run(read)
    figures: dict[str, float] = {}
    if twice:
        second = run(read)
        same = to_document(first) == to_document(second) and plot_svg(first) == plot_svg(second)
        figures["differing"] = float(not same)
    for reading in READINGS:
        for variant in read.variants:
            name = f"{reading}.{variant.name}"
            figures[name] = first.percent(reading, variant.name)
            spans = {span.name: span.sequences for span in read.spans}
            for span, lengths in (spans | {length: (length,) for length in read.sequences}).items():
                figures[f"{name}.{span}"] = first.percent(reading, variant.name, None, lengths)
            for model in read.models:
                figures[f"{name}.{model}"] = first.percent(reading, variant.name, [model])
        for better, worse in pairs:
            figures[f"{reading}.{better}-over-{worse}"] = min(
                first.percent(reading, better, [model], [length])
                - first.percent(reading, worse, [model], [length])
                for model in read.models
                for length in read.sequences
            )
    return figures
