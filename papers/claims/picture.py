# SPDX-License-Identifier: Apache-2.0
"""Figures of a model as bars, the paper's marked in them, in the style of the reports."""

from __future__ import annotations

from collections.abc import Sequence

from lab.report.figures.comparison_charts import Compared, compared_svg
from papers.claims.model_figure import Figure, Kind

__all__ = ["ratios_svg"]


def ratios_svg(figures: Sequence[Figure]) -> str:
    """Draw the figures that are ratios as bars, as SVG text."""
    rows = [
        Compared(figure.name, figure.ours, figure.paper, figure.kind is Kind.fitted)
        for figure in figures
        if figure.unit == "x"
    ]
    return compared_svg(rows, "ratio")
