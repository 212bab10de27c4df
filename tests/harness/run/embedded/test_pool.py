# SPDX-License-Identifier: Apache-2.0
"""Pools of memory in scenarios: borrowers go on when a CPU dies, and impossible pools are refused."""

from collections.abc import Callable
from pathlib import Path

import pytest

import railyard
from emulation.traffic.frames.values import Operation, Status
from emulation.traffic.memory.memory import Memory
from harness.errors import ScenarioError
from harness.report.measurement.metrics import measure
from harness.run.observation.variant_run import VariantRun
from harness.run.prepare import prepare
from harness.run.runner import run
from harness.run.testbeds import Embedded
from harness.scenario.loader import load
from harness.scenario.metrics import POOL_METRICS
from railyard.api.scenarios import execute
from topologies.errors import RailyardError

EXPERIMENT = Path(__file__).resolve().parents[4] / "experiments" / "26_pool" / "scenario.yaml"

RACK = "name: small\ntopology: {name: ub-rack-lrs, dims: [2, 2], cpus: 2, spares: 0}\n"
POOL = (
    "pool: {{lenders: [cpu0.0, cpu0.1, npu3], operations: 60, pages: 2, page_bytes: 256, timeout_us: 40, "
    "counters: 2, counter_lender: cpu0.1, mix: {{counter: 10, message: 10}}, copies: {copies}}}\n"
)
DEATH = "faults: [{at_us: 0.2, switch: cpu0.0}]\n"


def ran(path: Path) -> VariantRun:
    (only,) = run(prepare(*load(path)), 1, choice=Embedded()).runs.values()
    return only


def test_npus_borrow_from_cpus_and_a_neighbour(write: Callable[[str], Path]) -> None:
    metrics = measure(ran(write(RACK + POOL.format(copies=1))))
    assert metrics["correct_npus"] == metrics["npus"] == 4
    assert metrics["memory_operations"] == 240 == metrics["received_frames"]
    assert metrics["lent_bytes"] == 4 * 2 * 256 + 16
    assert metrics["moved_pages"] == metrics["lost_lenders"] == 0
    assert set(POOL_METRICS) <= set(metrics)


def test_the_pool_goes_on_when_a_cpu_dies(write: Callable[[str], Path]) -> None:
    done = ran(write(RACK + POOL.format(copies=2) + DEATH))
    metrics = measure(done)
    assert metrics["correct_npus"] == 4
    assert metrics["memory_operations"] == 240
    assert metrics["lost_lenders"] == 1
    assert metrics["moved_pages"] > 0
    assert 40 < metrics["slowest_operation_us"] < 42
    assert not done.observation.cut_off


def test_with_one_copy_the_run_ends_and_names_the_page(write: Callable[[str], Path]) -> None:
    seen = ran(write(RACK + POOL.format(copies=1) + DEATH)).observation
    assert seen.correct_nodes < 4
    assert "gave up at" in seen.cut_off
    assert "no copy of page" in seen.cut_off


def test_loss_repeats_requests_and_changes_no_value(write: Callable[[str], Path]) -> None:
    loss = "faults: [{at_us: 0.001, switch: cpu0.1, event: loss, percent: 10}]\n"
    metrics = measure(ran(write(RACK + POOL.format(copies=1) + loss)))
    assert metrics["correct_npus"] == 4
    assert metrics["duplicate_frames"] > 0
    assert metrics["received_frames"] == 240


def test_a_failed_link_of_a_cpu_loses_no_lender(write: Callable[[str], Path]) -> None:
    """Requests go again by the CPU's other planes."""
    cut = "faults: [{at_us: 0.3, link: cpu0.0-lrs0p0c1}]\n"
    metrics = measure(
        ran(write(RACK + POOL.format(copies=1).replace("operations: 60", "operations: 300") + cut))
    )
    assert metrics["lost_frames"] > 0
    assert metrics["retransmitted_frames"] > 0
    assert metrics["lost_lenders"] == 0
    assert metrics["correct_npus"] == 4


def test_a_python_user_runs_a_pool(write: Callable[[str], Path]) -> None:
    path = write(RACK + "pool: {lenders: [cpu0.0], operations: 10}\n")
    result = railyard.run(path)
    assert result.metric("run", "memory_operations") == 40


def test_a_store_that_a_lender_forgets_is_seen(
    write: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A check that finds nothing wrong has to be able to."""
    execute_right = Memory.execute

    def forget(memory: Memory, operation: Operation, address: int, length: int, data: bytes) -> object:
        if operation is Operation.STORE and address < 64:
            return Status.DONE, b""
        return execute_right(memory, operation, address, length, data)

    monkeypatch.setattr(Memory, "execute", forget)
    assert ran(write(RACK + POOL.format(copies=1))).observation.correct_nodes < 4


@pytest.mark.parametrize(
    ("pool", "words"),
    [
        ("{lenders: [lrs0p0n0]}", "lrs0p0n0 has no memory to lend"),
        ("{lenders: [cpu9]}", "cpu9"),
        ("{lenders: [cpu0.0, cpu0.0]}", "`lenders:` names a lender twice"),
        ("{lenders: [cpu0.0], copies: 2}", "2 copies of a page need as many lenders, but the borrower has 1"),
        ("{lenders: [cpu0.0], pages: 1000}", "bytes, but it lends 1048576"),
        ("{lenders: [npu0, cpu0.0], counters: 1, mix: {counter: 1}}", "npu0 cannot lend the shared counters"),
        ("{lenders: [cpu0.0], counters: 1}", "only one of `counters:` and"),
        ("{lenders: [cpu0.0], size: 4096, page_bytes: 64}", "larger than a page"),
        ("{lenders: [cpu0.0]}\ncollective: {elements: 64}", "has no `collective:`"),
    ],
)
def test_impossible_pools_are_refused_with_their_line(
    write: Callable[[str], Path], pool: str, words: str
) -> None:
    with pytest.raises(RailyardError) as caught:
        prepare(*load(write(RACK + f"pool: {pool}\n")))
    assert words in str(caught.value)
    assert ":3" in str(caught.value) or isinstance(caught.value, ScenarioError)


@pytest.mark.long
def test_all_assertions_of_the_experiment_hold() -> None:
    scenario, document = load(EXPERIMENT)
    assert execute(scenario, document, None, choice=Embedded()).passed
