# SPDX-License-Identifier: Apache-2.0
"""Statistics over the runs of a study: median with interval, distribution, paired differences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from harness.sweeps.table import Record

__all__ = [
    "CONFIDENCE",
    "SEEDS_ALIKE",
    "SHOWN",
    "Difference",
    "Group",
    "Spread",
    "differences",
    "grouped",
    "median_interval",
    "seeds_alike",
    "shown_metrics",
    "spread_of",
]

CONFIDENCE = 0.95
"""Confidence level of the intervals of medians."""

_RESAMPLES = 2000

SHOWN: Mapping[str, str] = {
    "completion_us": "took, µs",
    "convergence_us": "converged after, µs",
    "nodes_notified": "told",
    "notices": "messages",
    "entries_rewritten": "rewritten",
    "lost_frames": "lost",
    "retransmitted_frames": "sent again",
}
"""Metrics in tables of reports, with their headings."""


SEEDS_ALIKE = (
    "all seeds give the same metrics: nothing in this scenario but its data is drawn from the seed, so one "
    "seed is enough, and an interval over seeds says nothing (docs/use/scenarios.md#seeds)"
)
"""Sentence for a study whose seeds change nothing."""

_DATA_METRIC = "result_crc32"  # of the data, which every seed changes


@final
@dataclass(frozen=True, slots=True)
class Spread:
    """Distribution of a metric over `count` runs; `low` to `high` is the median's confidence interval."""

    count: int
    median: float
    low: float
    high: float
    minimum: float
    maximum: float


@final
@dataclass(frozen=True, slots=True)
class Group:
    """Runs of a study that differ only in seed and failed targets.

    Attributes:
        variant: Variant of the runs.
        point: Value of each axis.
        failed: Number of targets that fail in each run.
        total: Number of runs.
        records: Records of the runs with correct data.
    """

    variant: str
    point: Mapping[str, Any]
    failed: int
    total: int
    records: tuple[Record, ...]

    def spread(self, metric: str) -> Spread | None:
        """Return the distribution of a metric; None if no run has it."""
        values = [record[metric] for record in self.records if metric in record]
        return spread_of(values) if values else None


@final
@dataclass(frozen=True, slots=True)
class Difference:
    """Paired differences of a metric: of `label` minus `base`, for runs with equal axes, seed and targets."""

    base: str
    label: str
    metric: str
    spread: Spread


def spread_of(values: Sequence[float]) -> Spread:
    """Return the distribution of one or more values.

    The confidence interval is the percentile bootstrap of the median (2,000 resamples, fixed seed). It has no
    width for a single value or equal values.
    """
    array = np.asarray(values, dtype=np.float64)
    low = median = high = float(np.median(array))
    if len(array) > 1 and array.min() < array.max():
        low, high = median_interval(array, _RESAMPLES, seed=0)
    return Spread(len(array), median, low, high, float(array.min()), float(array.max()))


def median_interval(values: Sequence[float] | np.ndarray, resamples: int, seed: int) -> tuple[float, float]:
    """Return the ends of the 95 % interval of the median, by percentile bootstrap from a fixed seed."""
    from scipy.stats import bootstrap

    interval = bootstrap(
        (np.asarray(values, dtype=np.float64),),
        np.median,
        confidence_level=CONFIDENCE,
        n_resamples=resamples,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return float(interval.low), float(interval.high)


def grouped(records: Iterable[Record], axes: Sequence[str]) -> list[Group]:
    """Return the runs in groups of equal variant, axes and number of failed targets, by first appearance."""
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for record in records:
        groups.setdefault(_group_key(record, axes), []).append(record)
    return [
        Group(
            variant=own[0]["variant"],
            point={axis: own[0].get(axis) for axis in axes},
            failed=own[0]["failed"],
            total=len(own),
            records=tuple(record for record in own if record["status"] in ("right", "fails")),
        )
        for own in groups.values()
    ]


def shown_metrics(records: Sequence[Record]) -> dict[str, str]:
    """Return the metrics of `SHOWN` that tables show: the time, and metrics that a run has other than 0."""
    return {
        metric: heading
        for metric, heading in SHOWN.items()
        if metric == "completion_us" or any(record.get(metric) for record in records)
    }


def seeds_alike(records: Iterable[Record], axes: Sequence[str]) -> bool:
    """Return whether runs under several seeds have equal metrics in every group that has several seeds."""
    several = False
    for group in grouped(records, axes):
        by_cut: dict[str, list[Record]] = {}
        for record in group.records:
            by_cut.setdefault(record["cut"], []).append(record)
        for own in by_cut.values():
            without = [{**record, "run": "", "seed": 0, _DATA_METRIC: 0} for record in own]
            if any(record != without[0] for record in without):
                return False
            several = several or len({record["seed"] for record in own}) > 1
    return several


def differences(records: Sequence[Record], axes: Sequence[str], metrics: Iterable[str]) -> list[Difference]:
    """Return paired differences between each further variant and the first variant.

    With a single variant, the values of the first axis with text are compared instead of variants.
    """
    variants: list[Any] = list(dict.fromkeys(record["variant"] for record in records))
    column = "variant"
    if len(variants) < 2:
        words = [axis for axis in axes if any(isinstance(record.get(axis), str) for record in records)]
        if not words:
            return []
        column = words[0]
        variants = list(dict.fromkeys(record.get(column) for record in records))
    others = [name for name in ("variant", *axes, "seed", "cut") if name != column]
    table: dict[Any, dict[str, Record]] = {}
    for record in records:
        if record["status"] in ("right", "fails"):
            others_key = repr([record.get(name) for name in others])
            table.setdefault(record.get(column), {})[others_key] = record
    base = table.get(variants[0], {})
    result = []
    for label in variants[1:]:
        own = table.get(label, {})
        for metric in metrics:
            values = [
                own[others_key][metric] - base[others_key][metric] for others_key in own if others_key in base
            ]
            if values:
                result.append(Difference(str(variants[0]), str(label), metric, spread_of(values)))
    return result


def _group_key(record: Record, axes: Sequence[str]) -> tuple[Any, ...]:
    return record["variant"], record["failed"], repr([record.get(axis) for axis in axes])
