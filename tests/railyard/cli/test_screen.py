# SPDX-License-Identifier: Apache-2.0
"""Lines of progress of a run, without a terminal."""

import io

from rich.console import Console
from rich.progress import Progress

from harness.run.runner import Pace
from railyard.cli.display.screen import VariantProgress


def _lines(*steps: tuple[float, str, float, Pace | None]) -> list[str]:
    """Return what is printed without a terminal, for steps of (second, stage, share, pace)."""
    text = io.StringIO()
    console = Console(file=text, width=160)
    times = iter([second for second, *_ in steps])
    note = VariantProgress(Progress(console=console, disable=True), ["run"], console, lambda: next(times))
    for _, stage, share, pace in steps:
        note("run", stage, share, pace)
    return text.getvalue().splitlines()


def test_a_line_for_each_stage_and_every_half_minute() -> None:
    lines = _lines(
        (0.0, "filling tables", 0.0, None),
        (1.0, "filling tables", 0.5, None),
        (2.0, "running", 0.0, None),
        (20.0, "running", 0.2, Pace(9_000_000, 1_500_000)),
        (42.0, "running", 0.25, Pace(80_000_000, 2_000_000)),
        (50.0, "running", 0.3, Pace(90_000_000, 2_500_000)),
        (80.0, "running", 1.0, Pace(195_000_000, 9_000_000)),
        (81.0, "checking the data", 1.0, None),
    )
    assert lines == [
        "1 of 1, run: filling tables",
        "1 of 1, run: running",
        "1 of 1, run: running 25%, 2.0 µs, 2.00 M packet-hops/s, about 2 min left",
        "1 of 1, run: running 100%, 9.0 µs, 2.50 M packet-hops/s",
        "1 of 1, run: checking the data",
    ]


def test_a_stage_of_a_moment_has_no_rate() -> None:
    lines = _lines((0.0, "running", 0.0, None), (0.1, "running", 0.5, Pace(1, 1)), (40.0, "end", 1.0, None))
    assert lines == ["1 of 1, run: running", "1 of 1, run: end"]


def test_the_time_left_is_that_of_the_present_stage() -> None:
    lines = _lines(
        (0.0, "filling tables", 0.5, None),
        (100.0, "running", 0.0, None),
        (140.0, "running", 0.5, Pace(400_000, 10)),
    )
    assert lines[-1] == "1 of 1, run: running 50%, 0.0 µs, 10.0 k packet-hops/s, about 40 s left"
