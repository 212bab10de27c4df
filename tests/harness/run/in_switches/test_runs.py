# SPDX-License-Identifier: Apache-2.0
"""Whole runs of collectives in switches in virtual time: types, operations, lost trees, kinds of members."""

from pathlib import Path

import pytest

from harness.errors import ScenarioError
from harness.report.measurement.metrics import measure
from harness.run.observation.values import Observation
from harness.run.prepare import prepare
from harness.run.runner import run
from harness.run.testbeds import Embedded
from harness.scenario.loader import load
from tests.oracle.make import EmbeddedOracle, Hosts, embedded

HPN = "name: small\ntopology: {name: hpn, segments: 1, hosts: 3, rails: 2, aggs: 2}\n"
# The GPUs of a domain have links of their own, and a tree of leaves and spines.
DOMAIN = (
    "name: small\ntopology: {name: rail-optimised, domains: 2, hb_size: 4, radix: 4}\n"
    "transport: {initial_rto_us: 20, min_rto_us: 4}\n"
)


def seen(path: Path, text: str, choice: Embedded | EmbeddedOracle | None = None) -> Observation:
    path.write_text(text)
    return run(prepare(*load(path)), 1, choice=choice or Embedded()).runs["run"].observation


def collective(keys: str, kind: str = "allreduce") -> str:
    return f"collective: {{kind: {kind}, algorithm: switch-tree, elements: 5000{keys}}}\n"


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32"])
@pytest.mark.parametrize("operation", ["sum", "maximum", "minimum"])
def test_types_and_operations(dtype: str, operation: str, tmp_path: Path) -> None:
    text = HPN + collective(f", dtype: {dtype}, operation: {operation}")
    observation = seen(tmp_path / "a.yaml", text)
    assert observation.first_wrong == ""
    assert observation.correct_nodes == 6


@pytest.mark.parametrize("kind", ["reduce", "broadcast", "reduce-scatter", "all-gather"])
def test_every_kind_with_floats(kind: str, tmp_path: Path) -> None:
    assert seen(tmp_path / "a.yaml", HPN + collective(", dtype: float32", kind)).first_wrong == ""


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_members_of_either_kind_measure_the_same(dtype: str, tmp_path: Path) -> None:
    text = HPN + collective(f", dtype: {dtype}") + "transport: {initial_rto_us: 20, min_rto_us: 4}\n"
    text += "faults: [{at_us: 0.3, link: gpu0-tor0.0.0, event: loss, percent: 5}]\n"
    kinds: tuple[Hosts, Hosts] = ("native", "python")
    path = tmp_path / "a.yaml"
    path.write_text(text)
    native, python = (measure(run(prepare(*load(path)), 1, choice=embedded(k)).runs["run"]) for k in kinds)
    assert native == python
    assert native["retransmitted_frames"] > 0


def spines(count: int) -> str:
    return "faults:\n" + "".join(f"  - {{at_us: 0.5, switch: spine{spine}}}\n" for spine in range(count))


def test_members_go_on_around_a_ring_when_no_tree_is_left(tmp_path: Path) -> None:
    members = collective(", members: [gpu0..gpu3]")
    healthy = seen(tmp_path / "a.yaml", DOMAIN + members)
    observation = seen(tmp_path / "b.yaml", DOMAIN + members + spines(2))
    assert observation.first_wrong == ""
    assert observation.correct_nodes == 4
    assert observation.completion_ps > healthy.completion_ps
    assert observation.traffic.acknowledgements > 0 == healthy.traffic.acknowledgements


def test_maxima_have_no_ring_and_name_their_loss(tmp_path: Path) -> None:
    members = collective(", operation: maximum, members: [gpu0..gpu3]")
    observation = seen(tmp_path / "a.yaml", DOMAIN + members + spines(2))
    assert "has no result of block" in observation.first_wrong


def test_int64_is_for_switches(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"int64.* is for the algorithm switch-tree"):
        seen(tmp_path / "a.yaml", HPN + "collective: {algorithm: direct, dtype: int64}\n")
