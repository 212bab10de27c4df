# SPDX-License-Identifier: Apache-2.0
"""HTML report of a study: bands, heat maps, distributions, paired differences, and runs with trouble."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from math import nan
from typing import Any

from harness.report.figures.comparison_charts import Samples, distributions_svg
from harness.report.figures.study_charts import Band, Interval, bands_svg, grid_svg, intervals_svg
from harness.report.markup import html_page, shown, table
from harness.sweeps.axes import in_words, point_in_words
from harness.sweeps.comparisons import Comparison
from harness.sweeps.statistics import (
    CONFIDENCE,
    SEEDS_ALIKE,
    SHOWN,
    Group,
    Spread,
    differences,
    grouped,
    seeds_alike,
    shown_metrics,
)
from harness.sweeps.table import RANKED, RANKING, Record, job_losses, varied, worst

__all__ = ["distributions", "study_html"]

_FIGURES = {
    "completion_us": "until the last NPU has its result, µs",
    "convergence_us": "from the fault to the last table write, µs",
}
_WRONG = 30
# Largest numbers of curves and of rows that a reader can tell apart in a figure.
_CURVES, _ROWS = 8, 60
_PLACES = 5


def study_html(
    title: str,
    about: str,
    records: Sequence[Record],
    axes: Sequence[str],
    command: str,
    compared: Sequence[Comparison] = (),
) -> str:
    """Return the HTML page of a study.

    `about` is a sentence about the axes, `command` repeats the study, and `compared` has the outcomes of the
    assertions about several variants.
    """
    groups = grouped(records, axes)
    counts = dict.fromkeys(("right", "fails", "wrong", "gave-up", "stopped", "over", "error"), 0)
    for record in records:
        counts[record["status"]] += 1
    words = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    body = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="soft">{escape(about)}</p>',
        f'<p class="verdict">{len(records)} runs: {words}</p>',
        *([f"<p><b>Note:</b> {escape(SEEDS_ALIKE)}.</p>"] if seeds_alike(records, axes) else []),
        *_bands(groups, axes),
        *_intervals(groups, axes),
        *_grids(groups, axes),
        "<h2>Distributions</h2>",
        f"<figure>{distributions(records, axes)}</figure>",
        *_statistics(groups, axes, shown_metrics(records)),
        *_differences(records, axes),
        *_comparisons(compared),
        *_worst(records, axes),
        *_troubles(records, axes),
        f"<p>Command that repeats this study: <code>{escape(command)}</code></p>",
    ]
    return html_page(title, body)


def _worst(records: Sequence[Record], axes: Sequence[str]) -> Iterator[str]:
    """Yield a table of the worst runs with failed targets; nothing if the study fails no targets."""
    ranked = worst(records, RANKED)
    if not ranked:
        return
    losses = job_losses(records, axes)
    yield "<h2>Worst failures</h2>"
    yield '<p class="soft">Jobs: those that halted, or took longer than in the healthy run, and how much.</p>'
    several = varied(records, axes)
    heads = ["variant", *map(escape, several), "what failed", "outcome", "jobs", *RANKING.values()]
    rows = [
        [
            escape(record["variant"]),
            *(escape(in_words(record.get(axis))) for axis in several),
            f"<code>{escape(record['cut'])}</code>",
            record["status"],
            escape(losses[record["run"]]),
            *(shown(record.get(metric, nan)) if metric in record else "" for metric in RANKING),
        ]
        for record in ranked
    ]
    yield table(heads, rows, len(RANKING))


def distributions(records: Sequence[Record], axes: Sequence[str] = ()) -> str:
    """Return a figure of the cumulative distributions of completion and convergence times over the runs.

    Without a convergence time, as without faults, the figure has completion times alone.
    If targets fail in turn, healthy runs are left out. Each variant has a curve, or a curve for each value of
    the axes with text, such as strategies, if the figure then has at most eight curves.
    """
    failing = [record for record in records if record["failed"]] or list(records)
    names = _names(failing, axes)

    def curve(record: Record) -> str:
        return ", ".join([record["variant"], *(in_words(record[axis]) for axis in names)])

    if len({curve(record) for record in failing}) > _CURVES:
        names = []
    curves = list(dict.fromkeys(map(curve, failing)))
    panels = {
        title: [
            Samples(
                number,
                label,
                [r[metric] for r in failing if curve(r) == label and r["status"] == "right"],
                failed=sum(curve(r) == label and r["status"] != "right" for r in failing),
            )
            for number, label in enumerate(curves)
        ]
        for metric, title in reversed(_FIGURES.items())
        if metric == "completion_us" or any(record.get(metric) for record in failing)
    }
    return distributions_svg(panels)


def _names(points: Sequence[Mapping[str, Any]], axes: Sequence[str]) -> list[str]:
    """Return the axes with several values, not all of them numbers."""
    return [axis for axis in varied(points, axes) if not all(_number(point.get(axis)) for point in points)]


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _numeric(groups: Sequence[Group], axes: Sequence[str]) -> list[str]:
    """Return the axes with several values, all of them numbers."""
    return [
        axis
        for axis in axes
        if all(_number(group.point[axis]) for group in groups)
        and len({group.point[axis] for group in groups}) > 1
    ]


def _label(group: Group, axes: Sequence[str], without: Sequence[str] = ()) -> str:
    words = point_in_words({axis: group.point[axis] for axis in axes if axis not in without})
    failed = ["healthy" if not group.failed else f"{group.failed} failed"] if group.failed else []
    return ", ".join([group.variant, *words, *failed])


def _bands(groups: Sequence[Group], axes: Sequence[str]) -> Iterator[str]:
    """Yield a chart for each metric over the first numeric axis."""
    numeric = _numeric(groups, axes)
    if not numeric:
        return
    axis = numeric[0]
    yield f"<h2>Over {escape(axis)}</h2>"
    interval = f"{100 * CONFIDENCE:g} % interval of the median over the seeds"
    yield f'<p class="soft">Marks: medians; bands: {interval} (percentile bootstrap).</p>'
    for metric, title in _FIGURES.items():
        curves: dict[str, list[tuple[float, Spread]]] = {}
        for group in groups:
            spread = group.spread(metric)
            if spread is not None:
                curves.setdefault(_label(group, axes, [axis]), []).append((group.point[axis], spread))
        bands = [
            Band(
                label,
                [at for at, _ in points],
                [spread.median for _, spread in points],
                [spread.low for _, spread in points],
                [spread.high for _, spread in points],
            )
            for label, points in ((label, sorted(own, key=lambda p: p[0])) for label, own in curves.items())
        ]
        if any(any(band.median) for band in bands):
            yield f"<figure>{bands_svg(bands, axis, title)}</figure>"


def _intervals(groups: Sequence[Group], axes: Sequence[str]) -> Iterator[str]:
    """Yield a figure of each metric, with a row for each value of the non-numeric axes."""
    names = _names([group.point for group in groups], axes)
    if not names:
        return
    variants = list(dict.fromkeys(group.variant for group in groups))
    yield f"<h2>By {escape(' and '.join(names))}</h2>"
    interval = f"{100 * CONFIDENCE:g} % interval of the median over the seeds"
    yield f'<p class="soft">Marks: medians; lines: {interval} (percentile bootstrap); dots: runs.</p>'
    for metric, title in _FIGURES.items():
        rows = [
            Interval(
                _label(group, axes),
                variants.index(group.variant),
                [record[metric] for record in group.records if metric in record],
                spread.median,
                spread.low,
                spread.high,
            )
            for group in groups
            if (spread := group.spread(metric)) is not None
        ]
        if any(row.median for row in rows) and len(rows) <= _ROWS:
            yield f"<figure>{intervals_svg(rows, title)}</figure>"


def _grids(groups: Sequence[Group], axes: Sequence[str]) -> Iterator[str]:
    """Yield a heat map of median completion times over the first two axes, for each variant."""
    several = [axis for axis in axes if len({repr(group.point[axis]) for group in groups}) > 1]
    if len(several) < 2:
        return
    first, second = several[:2]
    columns = list(dict.fromkeys(in_words(group.point[first]) for group in groups))
    rows = list(dict.fromkeys(in_words(group.point[second]) for group in groups))
    yield f"<h2>Over {escape(first)} and {escape(second)}</h2>"
    for variant in dict.fromkeys(group.variant for group in groups):
        cells = {
            (in_words(group.point[first]), in_words(group.point[second])): spread.median
            for group in groups
            if group.variant == variant and (spread := group.spread("completion_us")) is not None
        }
        values = [[cells.get((column, row), nan) for column in columns] for row in rows]
        figure = grid_svg(columns, rows, values, (first, second, "median completion, µs"))
        yield f"<figure><figcaption>{escape(variant)}</figcaption>{figure}</figure>"


def _statistics(groups: Sequence[Group], axes: Sequence[str], metrics: Mapping[str, str]) -> list[str]:
    rows = []
    for group in groups:
        spreads = [group.spread(metric) for metric in metrics]
        names = (escape(group.variant), *(escape(in_words(group.point[axis])) for axis in axes))
        rows.append(
            (*names, str(group.failed), f"{len(group.records)} of {group.total}", *map(_cell, spreads))
        )
    heads = ("variant", *map(escape, axes), "failed", "runs", *metrics.values())
    return [
        "<h2>Statistics</h2>",
        f'<p class="soft">Median, its {100 * CONFIDENCE:g} % interval, and the maximum.</p>',
        table(heads, rows, numbers=len(metrics) + 2),
    ]


def _cell(spread: Spread | None) -> str:
    if spread is None:
        return ""
    text = shown(round(spread.median, 3))
    if spread.low < spread.high:
        text += f" [{shown(round(spread.low, 3))}, {shown(round(spread.high, 3))}]"
    return text + (f" max {shown(round(spread.maximum, 3))}" if spread.maximum > spread.median else "")


def _differences(records: Sequence[Record], axes: Sequence[str]) -> list[str]:
    rows = [
        (
            escape(f"{item.label} - {item.base}"),
            SHOWN[item.metric],
            str(item.spread.count),
            f"{item.spread.median:+,.3f}",
            f"{item.spread.low:+,.3f} to {item.spread.high:+,.3f}",
        )
        for item in differences(records, axes, shown_metrics(records))
    ]
    if not rows:
        return []
    return [
        "<h2>Paired differences</h2>",
        '<p class="soft">Each pair has the same axes, seed and failed targets.</p>',
        table(("difference", "metric", "pairs", "median", "interval"), rows, numbers=3),
    ]


def _comparisons(compared: Sequence[Comparison]) -> list[str]:
    """Return a table of the assertions about several variants, with points and seeds where they fail."""
    if not compared:
        return []
    by_name: dict[str, list[Comparison]] = {}
    for item in compared:
        by_name.setdefault(item.outcome.name, []).append(item)
    rows = []
    for name, items in by_name.items():
        failing = [item for item in items if not item.outcome.passed]
        places = "; ".join(_place(item) for item in failing[:_PLACES])
        more = f" and {len(failing) - _PLACES} more" if len(failing) > _PLACES else ""
        rows.append((escape(name), f"{len(items) - len(failing)} of {len(items)}", escape(places + more)))
    heads = ("assertion", "holds", "where it fails")
    return ["<h2>Assertions that compare variants</h2>", table(heads, rows, numbers=0)]


def _place(item: Comparison) -> str:
    outcome = item.outcome
    words = ", ".join([*point_in_words(item.point), f"seed {item.seed}"])
    return f"{words}: {outcome.value:g}, limit {outcome.limit:g}"


def _troubles(records: Sequence[Record], axes: Sequence[str]) -> list[str]:
    troubled = [record for record in records if record["status"] != "right"]
    if not troubled:
        return []
    several = varied(records, axes)
    rows = [
        (
            record["status"],
            escape(record["variant"]),
            *(escape(in_words(record.get(axis))) for axis in several),
            str(record["seed"]),
            escape(record["cut"]),
            escape(record["trouble"]),
        )
        for record in troubled[:_WRONG]
    ]
    more = [f"<p>and {len(troubled) - _WRONG} more</p>"] if len(troubled) > _WRONG else []
    heads = ("status", "variant", *map(escape, several), "seed", "failed", "what happened")
    return ["<h2>Runs that are not right</h2>", table(heads, rows, numbers=0), *more]
