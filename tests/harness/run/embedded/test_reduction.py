# SPDX-License-Identifier: Apache-2.0
"""Scenarios whose NPUs reduce by cores or by the CCU: metrics, refusals, either kind of agents."""

from collections.abc import Callable
from pathlib import Path

import pytest

import railyard
from harness.errors import ScenarioError
from harness.report.measurement.metrics import measure
from harness.run.prepare import prepare
from harness.run.runner import run
from harness.run.testbeds import Embedded, TestbedChoice
from harness.scenario.digest import digest
from harness.scenario.loader import load
from harness.scenario.metrics import HOST_METRICS
from tests.oracle.make import embedded

EXPERIMENT = Path(__file__).resolve().parents[4] / "experiments" / "25_ccu" / "scenario.yaml"

MESH = """\
name: small
topology: {name: full-mesh, dims: [2, 4]}
collective: {elements: 32768, payload_bytes: 1024, dtype: float32}
"""
CUT = "faults: [{at_us: 0.3, link: npu0-npu1}]\n"


def measured(path: Path, choice: TestbedChoice | None = None) -> dict[str, float]:
    results = run(prepare(*load(path)), 1, choice=choice or Embedded())
    (only,) = results.runs.values()
    assert not only.observation.first_wrong
    return measure(only)


@pytest.mark.parametrize(
    "hosts",
    ["reduction: core, rate_gbps: 500", "reduction: ccu, rate_gbps: 500, sram_kib: 2", "reduction: ccu"],
)
def test_agents_of_either_kind_measure_the_same(write: Callable[[str], Path], hosts: str) -> None:
    path = write(MESH + CUT + f"hosts: {{{hosts}}}\n")
    native, python = (measured(path, embedded(kind)) for kind in ("native", "python"))
    assert native == python
    assert native["retransmitted_frames"] > 0


def test_the_ccu_saves_memory_traffic_and_leaves_the_cores_alone(write: Callable[[str], Path]) -> None:
    texts = ("", "hosts: {reduction: core, rate_gbps: 800}\n", "hosts: {reduction: ccu, rate_gbps: 800}\n")
    links, core, ccu = (measured(write(MESH + text)) for text in texts)
    assert not set(HOST_METRICS) & set(links)
    assert links["result_crc32"] == core["result_crc32"] == ccu["result_crc32"]
    assert ccu["completion_us"] < core["completion_us"]
    # 7/8 sent twice; of one half of the array sums of 1/2 and 1/8, of the other of 1/4 and 1/8.
    array = 4 * 32768 * 8
    assert ccu["memory_read_bytes"] == array * (14 / 8 + 1 / 2)
    assert ccu["memory_written_bytes"] == array * (1 / 2 + 7 / 8)
    assert core["core_us"] > 0 == ccu["core_us"]


def test_results_without_hosts_keep_the_hash_of_their_input(write: Callable[[str], Path]) -> None:
    scenario, _ = load(write(MESH))
    assert "hosts" not in scenario.variants[0].model_dump(mode="json")
    assert digest(load(write(MESH + "hosts: {reduction: ccu}\n"))[0], 1) != digest(scenario, 1)


@pytest.mark.parametrize(
    ("hosts", "expected"),
    [
        ("{}", ":4: hosts.reduction is missing"),
        ("{reduction: gpu}", ":4: hosts.reduction: 'gpu'"),
        ("{reduction: core, sram_kib: 4}", ":4: hosts: `sram_kib:` does not apply to `reduction: core`"),
        (
            "{reduction: ccu, core_percent: 4}",
            ":4: hosts: `core_percent:` does not apply to `reduction: ccu`",
        ),
        ("{reduction: ccu, rate_gbps: 0}", ":4: hosts.rate_gbps: 0"),
    ],
)
def test_impossible_hosts_are_refused_with_their_line(
    write: Callable[[str], Path], hosts: str, expected: str
) -> None:
    with pytest.raises(ScenarioError) as caught:
        load(write(MESH + f"hosts: {hosts}\n"))
    assert expected in str(caught.value)


@pytest.mark.long
def test_all_assertions_of_the_experiment_hold() -> None:
    assert railyard.run(EXPERIMENT).passed
