"""Whole runs on a small mesh: every floor takes part."""

import gc
import json
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.report.document import to_json
from harness.report.results import Result, conclude
from harness.run.observation.variant_run import VariantRun
from harness.run.prepare import Prepared, prepare
from harness.run.runner import Pace, observe, run
from harness.scenario.loader import load
from harness.scenario.study import Study
from harness.sweeps.conduct import results_of
from harness.sweeps.plan import plan_study
from harness.sweeps.table import record_of

HEAD = """\
name: small
topology: {name: full-mesh, dims: [4, 4]}
collective: {elements: 65536, payload_bytes: 1024}
link: {detect_us: 0.5}
control: {processing_us: 0.5}
"""


def prepared(path: Path) -> tuple[Prepared, ...]:
    return prepare(*load(path))


def result(path: Path, seed: int) -> tuple[Result, dict[str, VariantRun]]:
    scenario, document = load(path)
    done = run(prepare(scenario, document), seed)
    return conclude(scenario, seed, "embedded", done.runs), dict(done.runs)


def test_a_healthy_run_is_right_and_loses_nothing(write: Callable[[str], Path]):
    results, runs = result(write(HEAD), 1)
    assert results.passed
    assert results.of("run", "correct_npus") == 16
    for nothing in ("retransmitted_frames", "duplicate_frames", "lost_frames", "dropped_frames", "notices"):
        assert results.of("run", nothing) == 0
    assert results.of("run", "sent_frames") == results.of("run", "received_frames")
    assert 1.0 < results.metrics["run.ratio_to_bound"] < 1.25
    seen = runs["run"].observation
    payload = 2 * 15 * 65536 * 4  # what an AllReduce moves, over all NPUs
    assert sum(seen.timeline.delivered) == payload + 54 * results.of("run", "received_frames")
    assert sum(sum(pair) for pair in seen.link_bytes.values()) > payload


def test_a_variant_leaves_no_memory_to_the_garbage_collector(write: Callable[[str], Path]):
    """Objects that refer to themselves would stay until a collection, and pile up variant by variant."""
    (ready,) = prepared(write(HEAD + "faults: [{at_us: 1, link: npu0-npu1}]\n"))
    left: list[weakref.ref[object]] = []
    gc.disable()
    try:
        observe(ready, 1, lambda testbed: left.append(weakref.ref(testbed)))
        assert left[0]() is None
    finally:
        gc.enable()


def test_a_ring_keeps_to_its_own_bound(write: Callable[[str], Path]):
    ring = "routing: {strategy: shortest}\n"
    results, _ = result(write(HEAD.replace("{elements", "{algorithm: ring, elements") + ring), 1)
    assert results.passed
    assert 1.0 < results.metrics["run.ratio_to_bound"] < 1.15


@pytest.mark.long
def test_a_ring_that_borrows_links_is_faster_and_held_against_all_of_them(write: Callable[[str], Path]):
    ring = HEAD.replace("{elements", "{algorithm: ring, elements")
    text = ring + "variants: [{name: alone, routing: {strategy: shortest}}, {name: borrowing}]\n"
    results, _ = result(write(text), 1)
    assert results.metrics["borrowing.completion_us"] < results.metrics["alone.completion_us"]
    assert results.metrics["borrowing.bound_us"] == pytest.approx(results.metrics["alone.bound_us"] / 6)
    assert results.metrics["borrowing.ratio_to_bound"] > 1.0


@pytest.mark.long("{strategy: shortest, notification: flooding}")
@pytest.mark.parametrize("routing", ["{}", "{strategy: shortest, notification: flooding}"])
def test_a_cut_link_costs_time_but_no_data(write: Callable[[str], Path], routing: str):
    text = f"{HEAD}routing: {routing}\nfaults: [{{at_us: 0.5, link: npu0-npu1}}]\n"
    results, _ = result(write(text), 1)
    assert results.passed
    assert results.of("run", "lost_frames") > 0
    assert results.of("run", "retransmitted_frames") > 0
    assert results.of("run", "notices") > 0
    assert results.of("run", "convergence_us") >= 1.0


def test_a_link_that_comes_back_is_no_matter(write: Callable[[str], Path]):
    faults = "faults: [{at_us: 0.5, link: npu0-npu1}, {at_us: 3, link: npu0-npu1, event: up}]\n"
    results, _ = result(write(HEAD + faults), 1)
    assert results.of("run", "correct_npus") == 16


def test_the_same_seed_gives_the_same_bytes_and_another_does_not(write: Callable[[str], Path]):
    path = write(HEAD + "faults: [{at_us: 0.5, link: npu0-npu1}]\n")
    first, second, other = (to_json(result(path, seed)[0]) for seed in (1, 1, 2))
    assert first == second
    metrics, other_metrics = (json.loads(text)["metrics"] for text in (first, other))
    assert metrics["run.result_crc32"] != other_metrics["run.result_crc32"]


def test_progress_grows_to_the_end_of_every_stage(write: Callable[[str], Path]):
    said: list[tuple[str, str, float]] = []
    paces: list[Pace] = []

    def note(variant: str, stage: str, share: float, pace: Pace | None = None) -> None:
        said.append((variant, stage, share))
        if pace is not None:
            assert stage == "running"
            if variant == "a":
                paces.append(pace)

    path = write(HEAD + "variants: [{name: a}, {name: b}]\n")
    run(prepared(path), 1, note)
    assert [pace.now_ps for pace in paces] == sorted({pace.now_ps for pace in paces})
    assert 0 < paces[0].hops < paces[-1].hops
    for name in ("a", "b"):
        for stage in ("filling tables", "running", "checking the data"):
            shares = [share for variant, now, share in said if (variant, now) == (name, stage)]
            assert shares == sorted(shares)
            assert shares[-1] == pytest.approx(1.0, abs=0.01)
    running = [share for variant, now, share in said if now == "running"]
    assert len([share for share in running if 0.2 < share < 0.8]) > 10


def test_a_long_wait_has_no_more_bins_than_can_be_seen(write: Callable[[str], Path]):
    # Nothing but the timer, thousands of bins later, brings the lost frames back.
    rare = "transport: {initial_rto_us: 2000, min_rto_us: 2000}\nfaults:\n"
    for number, event in ((0.5, "down"), (1000, "up")):
        rare += f"  - {{at_us: {number}, npu: npu0, event: {event}}}\n"
    results, runs = result(write(HEAD + rare), 1)
    timeline = runs["run"].observation.timeline
    assert results.metrics["run.completion_us"] > 2000
    assert len(timeline.delivered) <= 480
    payload_and_headers = 2 * 15 * 65536 * 4 + 54 * results.of("run", "received_frames")
    assert sum(timeline.delivered) >= payload_and_headers
    assert timeline.bin_ps * len(timeline.delivered) >= runs["run"].observation.completion_ps


@pytest.mark.long
def test_a_sweep_cuts_every_link_once_and_keeps_their_order(write: Callable[[str], Path]):
    small = HEAD.replace("[4, 4]", "[3, 3]").replace("65536", "16384")
    path = write(small + "faults: [{at_us: 0.3, link: npu0-npu1}]\n")
    plan = plan_study(path, Study(fail_each=("link",)))
    healthy, *results = map(record_of, results_of(plan, jobs=2))
    assert (healthy["cut"], healthy["convergence_us"]) == ("", 0)
    assert [record["cut"] for record in results] == [link.name for link in prepared(path)[0].fabric.links]
    assert len(results) == 18
    assert [record["trouble"] for record in results if record["status"] != "right"] == []
    assert plan.scenario.name == "small"


def test_a_graph_of_computations_alone_ends(write: Callable[[str], Path]) -> None:
    file = write(
        """\
name: computations
topology: {name: full-mesh, dims: [2]}
graph:
  operations:
    - {id: first, compute_us: 3, on: npu0}
    - {id: second, compute_us: 4, on: npu0, after: [first]}
"""
    )
    done, _ = result(file, 1)
    assert done.passed
    assert done.metrics["run.completion_us"] == 7
