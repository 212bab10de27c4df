# SPDX-License-Identifier: Apache-2.0
"""Runs in several threads: the same observation as in one thread, whatever happens on the way."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import railyard
from emulation.embedded.partitions import partition_count, partitions, partitions_for
from emulation.embedded.testbed import EmbeddedTestbed
from emulation.errors import MachineError
from harness.run import testbeds
from harness.run.observation.values import Observation
from harness.run.prepare import Prepared, prepare
from harness.run.runner import run
from harness.run.testbeds import Embedded, TestbedChoice
from harness.scenario.loader import load
from tests.harness.run.embedded.scenarios import JOBS
from topologies import Fabric
from topologies.families.graphs.torus import torus
from topologies.model.codec import to_json

Write = Callable[[str], Path]

RACK = """\
name: rack
topology: {name: full-mesh, dims: [4, 4], lane_rate_gbps: 25}
collective: {elements: 16384, payload_bytes: 1024}
link: {detect_us: 0.5}
control: {processing_us: 0.5}
transport: {window: 16, initial_rto_us: 20, min_rto_us: 5}
"""
# Buffers of a frame each: frames wait for credits of other threads' switches all the time.
TIGHT = """\
name: tight
topology: {file: fabric.json}
collective: {kind: all-to-all, algorithm: direct, elements: 4032, payload_bytes: 1024}
routing: {strategy: all-path, weights: oblivious}
link: {credit_bytes: 1200}
"""

DEADLOCK = (
    TIGHT.replace("oblivious}", "oblivious, rules: single-vl}")
    + """\
variants:
  - {name: run, expect: deadlock}
"""
)

# All links of npu0 in its line: agents ask their controllers for other paths.
SILENT = "\n  - ".join(
    f"{{at_us: 1, link: {link}, event: loss, percent: 100}}"
    for link in ("npu0-npu1", "npu0-npu2", "npu0-npu3")
)

FAULTS = {
    "healthy": (RACK, ""),
    "cut": (RACK, "{at_us: 1, link: npu0-npu1}"),
    "flooding": (RACK + "routing: {notification: flooding}\n", "{at_us: 1, link: npu0-npu4}"),
    "loss": (RACK, "{at_us: 0.5, switch: npu3, event: loss, percent: 2}"),
    "flap": (RACK, "{at_us: 1, link: npu0-npu1, event: flap, period_us: 2, count: 3}"),
    "slow": (RACK, "{at_us: 1, link: npu0-npu4, event: rate, percent: 10}"),
    "silence": (RACK, SILENT),
    "adaptive": (
        RACK + "routing: {strategy: adaptive}\n",
        "{at_us: 1, link: npu0-npu1, event: rate, percent: 10}",
    ),
    "reduction": (RACK + "hosts: {reduction: ccu}\n", ""),
    "jobs": (JOBS, "{at_us: 1, direction: npu0->npu1, event: loss, percent: 5}"),
}


class Threaded:
    """Makes embedded testbeds of so many threads, on machines of fewer processors, too."""

    name, switch, options = "embedded", "", ()

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.made: list[EmbeddedTestbed] = []

    def check_machine(self, *, captures: bool) -> None:
        """Do nothing."""

    def check(self, prepared: Sequence[Prepared], *, captures: bool) -> None:
        """Do nothing."""

    def make(self, ready: Prepared, bin_ps: int, seed: int, *, captures: bool = False) -> EmbeddedTestbed:
        """Return a testbed and keep it."""
        self.made.append(Embedded(threads=self.threads).make(ready, bin_ps, seed))
        return self.made[-1]

    @property
    def windows(self) -> int:
        """Number of spans of time in which the threads ran."""
        return sum(bed.network.window_report()["windows"] for bed in self.made)


def observed(prepared: Sequence[Prepared], choice: TestbedChoice) -> list[Observation]:
    """Return what all variants did."""
    return [ran.observation for ran in run(prepared, 3, choice=choice).runs.values()]


def same_in_all_threads(prepared: Sequence[Prepared], counts: Sequence[int] = (2, 3, 4)) -> None:
    """Check that runs in several threads did run in threads, and did what a run in one partition does."""
    alone = observed(prepared, Embedded(whole=True))
    for threads in counts:
        choice = Threaded(threads)
        assert observed(prepared, choice) == alone, f"{threads} threads"
        assert choice.windows > 0


@pytest.mark.parametrize("name", FAULTS)
def test_threads_change_nothing(write: Write, name: str) -> None:
    scenario, fault = FAULTS[name]
    file = write(scenario + (f"faults:\n  - {fault}\n" if fault else ""))
    same_in_all_threads(prepare(*load(file)))


@pytest.mark.parametrize("name", ["cut", "silence", "loss"])
def test_threads_with_several_partitions_each_change_nothing(
    write: Write, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("emulation.embedded.partitions.HOSTS", 2)
    monkeypatch.setattr("emulation.embedded.partitions._MOST_CROSSING", 1)
    scenario, fault = FAULTS[name]
    prepared = prepare(*load(write(f"{scenario}faults:\n  - {fault}\n")))
    assert partition_count(prepared[0].fabric, 3) == 6
    same_in_all_threads(prepared, (1, 2, 3))


@pytest.mark.parametrize("seed", range(1, 7))
def test_frames_that_wait_for_credits_keep_their_order(write: Write, tmp_path: Path, seed: int) -> None:
    # Delays that are often equal: events of different threads fall on the same picosecond.
    draw = random.Random(seed)
    fabric = torus([3, 4] if seed % 2 else [4, 4])
    links = tuple(replace(link, delay_ps=draw.choice([4000, 5000, 5000, 20000])) for link in fabric.links)
    (tmp_path / "fabric.json").write_text(to_json(replace(fabric, links=links)))
    same_in_all_threads(prepare(*load(write(TIGHT))))


def test_a_deadlock_is_found_in_one_partition(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(testbeds, "processors", lambda: 2)
    (tmp_path / "fabric.json").write_text(to_json(torus([4, 4])))
    prepared = prepare(*load(write(DEADLOCK)))
    alone, threads = (observed(prepared, choice) for choice in (Embedded(whole=True), Embedded(threads=2)))
    assert threads == alone
    assert alone[0].deadlock is not None


def test_the_result_does_not_tell_the_number_of_threads(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(testbeds, "processors", lambda: 2)
    file = write(RACK)
    alone, threads = (railyard.run(file, threads=count) for count in (1, 2))
    assert (threads.to_json(), threads.command) == (alone.to_json(), alone.command)


def test_more_threads_than_processors_are_refused(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(testbeds, "processors", lambda: 2)
    with pytest.raises(MachineError, match="3 threads, and this process may use 2 processors"):
        run(prepare(*load(write(RACK))), 1, choice=Embedded(threads=3))


@pytest.mark.parametrize("count", [2, 3, 4, 7])
def test_partitions_have_about_the_same_work_and_long_links_between_them(count: int) -> None:
    fabric = torus([8, 8])
    parts = partitions(fabric, count)
    sizes = Counter(parts)
    assert set(sizes) == set(range(count))
    assert max(sizes.values()) <= 1.3 * len(parts) / count


def racks() -> tuple[Fabric, dict[str, int]]:
    """Return four meshes of short links, joined in a ring by long ones, and the mesh of each node."""
    fabric = torus([4, 8])
    row = {node.name: number // 8 for number, node in enumerate(fabric.nodes)}
    links = tuple(
        replace(link, delay_ps=5000 if row[link.a.node] == row[link.b.node] else 50000)
        for link in fabric.links
    )
    return replace(fabric, links=links), row


def test_a_single_thread_has_partitions_that_most_bytes_stay_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emulation.embedded.partitions.HOSTS", 8)
    fabric, row = racks()
    within, beyond = ("npu0", "npu1"), ("npu0", "npu16")
    assert row["npu0"] == row["npu1"] != row["npu16"]
    assert set(partitions_for(fabric, 1, {within: 9000, beyond: 1000})) == {0, 1, 2, 3}
    assert set(partitions_for(fabric, 1, {within: 8000, beyond: 2000})) == {0}
    assert set(partitions_for(fabric, 2, {within: 8000, beyond: 2000})) == {0, 1, 2, 3}


def test_no_partition_is_cut_along_groups_too_large_for_even_work(capfd: pytest.CaptureFixture[str]) -> None:
    # Two large groups and six nodes beside them: METIS would print warnings, and cut none of the groups.
    fabric = torus([8, 8])
    group = {node.name: number // 29 if number < 58 else number for number, node in enumerate(fabric.nodes)}
    links = tuple(
        replace(link, delay_ps=5000 if group[link.a.node] == group[link.b.node] else 50000)
        for link in fabric.links
    )
    sizes = Counter(partitions(replace(fabric, links=links), 8))
    assert max(sizes.values()) <= 1.3 * 64 / 8
    assert capfd.readouterr() == ("", "")


def test_racks_stay_whole_where_their_links_are_short() -> None:
    fabric, row = racks()
    parts = partitions(fabric, 2)
    by_row = {row[node.name]: set[int]() for node in fabric.nodes}
    for node, part in zip(fabric.nodes, parts, strict=True):
        by_row[row[node.name]].add(part)
    assert all(len(members) == 1 for members in by_row.values())
    assert Counter(parts) == {0: 16, 1: 16}
