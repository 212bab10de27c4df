# SPDX-License-Identifier: Apache-2.0
"""Traces: their distributions, their files, and what is wrong with one."""

from pathlib import Path

import numpy as np
import pytest

from harness.errors import ScenarioError
from papers.flow_level.workload.traces import DURATIONS, SIZES, Entry, Workload, jobs_of, make, read, write

MANY = Workload(jobs=10_000)


@pytest.mark.parametrize("sizes", SIZES)
def test_sizes_are_drawn_as_stated(sizes: str) -> None:
    assert sum(SIZES[sizes].values()) == pytest.approx(1, abs=1e-3)
    drawn = np.array([entry.npus for entry in make(Workload(jobs=10_000, sizes=sizes), 1)])
    for npus, share in SIZES[sizes].items():
        assert (drawn == npus).mean() == pytest.approx(share, abs=0.012)


def test_arrivals_are_random_at_the_load_that_was_asked_for() -> None:
    entries = make(MANY, 2)
    gaps = np.diff([0.0] + [entry.arrival for entry in entries])
    # Exponential: as wide as their mean.
    assert gaps.std() / gaps.mean() == pytest.approx(1, abs=0.03)
    work = sum(entry.npus * entry.seconds for entry in entries)
    assert work / (MANY.npus * entries[-1].arrival) == pytest.approx(MANY.load, rel=0.1)


def test_durations_follow_the_released_ones() -> None:
    drawn = np.array([entry.seconds for entry in make(MANY, 3)])
    for seconds, share in DURATIONS:
        assert (drawn <= seconds).mean() == pytest.approx(share, abs=0.012)


def test_one_seed_gives_one_trace() -> None:
    small = Workload(jobs=50)
    assert make(small, 7) == make(small, 7) != make(small, 8)


def test_a_file_gives_back_what_was_written(tmp_path: Path) -> None:
    entries = make(Workload(jobs=40, sizes="eights"), 4)
    path = tmp_path / "trace.jsonl"
    write(path, entries)
    assert read(path) == entries


def test_every_fault_of_a_file_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(
        '{"job": "a", "arrival": 0, "npus": 8, "seconds": 60}\n'
        "\n"
        '{"job": "b", "arrival": 0, "npus": 12, "seconds": 60}\n'
        '{"job": "c", "arrival": -1, "npus": 8, "seconds": 60, "speed": 2}\n'
        '{"job": "a", "arrival": 1, "npus": 8, "seconds": 60}\n'
        '{"job": "d", "arrival": 1,\n'
        '{"job": "e", "arrival": 1, "npus": 64, "seconds": 60, "stages": 3}\n'
        '{"job": "f", "arrival": 1, "npus": 64, "seconds": 60, "group": 48}\n'
        '{"job": "g", "arrival": 1, "npus": 64, "seconds": 60, "gradients": 0.7, "experts": 0.4}\n'
    )
    with pytest.raises(ScenarioError) as error:
        read(path)
    lines = str(error.value).splitlines()
    assert [line.removeprefix(f"{path}:").split(":")[0] for line in lines] == list(
        "344567 89".replace(" ", "")
    )
    for words in (
        "multiple of 8",
        "arrival",
        "speed",
        "line 1 as well",
        "Invalid JSON",
        "3 stages",
        "48 NPUs",
        "lower",
    ):
        assert any(words in line for line in lines), words


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="one JSON object a line"):
        read(tmp_path / "none.jsonl")


def test_a_job_takes_as_long_alone_as_its_line_says() -> None:
    entries = make(Workload(jobs=200), 5)
    for entry, job in zip(entries, jobs_of(entries), strict=True):
        assert job.alone == pytest.approx(entry.seconds)
        assert all(len(phase.pairs) and phase.amount for phase in job.phases)
        assert all(phase.pairs.max() < job.npus for phase in job.phases)


def test_shares_without_anybody_to_send_to_are_arithmetic() -> None:
    item = Entry(job="a", arrival=0, npus=8, seconds=100, gradients=0.5)
    two = Entry(job="b", arrival=0, npus=64, seconds=100, stages=8, gradients=0.2, pipeline=0.1)
    first, second = jobs_of([item, two])
    assert (first.compute, first.phases) == (10.0, ())
    assert [phase.name for phase in second.phases] == ["pipeline"]
    assert second.compute == pytest.approx(9.0)
