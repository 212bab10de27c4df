"""A measured series, and where it was measured."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import final

__all__ = ["Comparison", "Series", "machine"]


@final
@dataclass(frozen=True, slots=True)
class Series:
    """A quantity measured in several rounds."""

    values: Sequence[float]

    @property
    def median(self) -> float:
        return median(self.values)

    def as_json(self) -> dict[str, float]:
        return {"median": self.median, "least": min(self.values), "most": max(self.values)}

    def __str__(self) -> str:
        return f"{_short(self.median)} ({_short(min(self.values))} to {_short(max(self.values))})"


@final
@dataclass(frozen=True, slots=True)
class Comparison:
    """Ours beside BMv2's, measured in turn. `target`: how many times better ours is to be."""

    name: str
    unit: str
    ours: Series
    theirs: Series | None
    more_is_better: bool
    target: float | None = None

    @property
    def ratio(self) -> float | None:
        if self.theirs is None:
            return None
        a, b = self.ours.median, self.theirs.median
        return a / b if self.more_is_better else b / a

    def as_json(self) -> dict[str, object]:
        result: dict[str, object] = {"unit": self.unit, "ours": self.ours.as_json(), "target": self.target}
        if self.theirs is not None:
            result |= {"bmv2": self.theirs.as_json(), "ratio": self.ratio}
        return result

    def row(self) -> str:
        """Return the figure as a line of a Markdown table."""
        theirs = "not installed" if self.theirs is None else str(self.theirs)
        ratio = "" if self.ratio is None else f"{self.ratio:.1f}"
        target = "" if self.target is None else f"{self.target:g}"
        return f"| {self.name}, {self.unit} | {self.ours} | {theirs} | {ratio} | {target} |"


def _short(value: float) -> str:
    for limit, unit in ((1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:.3g} {unit}"
    return f"{value:.3g}"


def machine() -> str:
    """Return a description of the processor, its cores, memory and kernel."""
    model = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{model}, {os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()} {platform.release()}"
