# SPDX-License-Identifier: Apache-2.0
"""Whole runs in real time: the first experiment on Mininet, and the same scenario on every testbed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, final

import pytest
from ruamel.yaml import YAML
from scapy.utils import PcapReader

from emulation.linux import kernel
from emulation.mininet.switches.processes import SwitchKind
from emulation.testbed import Testbed
from emulation.traffic.frames.values import ETHERTYPE
from emulation.traffic.host.spec import agent_specs
from emulation.traffic.memory.agent import MemoryAgent
from emulation.traffic.schedule.data import compare, make_data
from emulation.traffic.schedule.schedule import Sliced
from harness.run.boot import booted
from harness.run.observation.values import Observation
from harness.run.prepare import prepare
from harness.run.real_time import RealTime
from harness.run.runner import run
from harness.run.testbeds import Embedded, TestbedChoice
from harness.scenario.loader import load
from tests.emulation.mininet.benches import no_rights
from tests.emulation.mininet.commands import KINDS, ROOT, Machine, railyard

reason = no_rights()
pytestmark = pytest.mark.skipif(bool(reason), reason=reason)

FIRST = ROOT / "experiments" / "01_first_train" / "scenario.yaml"
WHOLE = "RAILYARD_WHOLE_DEMO" in os.environ
"""True to run the first experiment as it is, some minutes for both fabrics."""


def first_experiment(folder: Path) -> Path:
    """Its file or, that the suite may end today, a copy with an eighth of the array and two variants."""
    if WHOLE:
        return FIRST
    yaml = YAML(typ="safe")
    document = yaml.load(FIRST)
    document["collective"]["elements"] //= 8
    document["faults"][0]["at_us"] /= 4
    document["variants"] = [item for item in document["variants"] if item["name"] in ("healthy", "cut")]
    del document["assertions"]
    path = folder / "scenario.yaml"
    yaml.dump(document, path)
    return path


def frames_of(path: Path) -> list[bytes]:
    with PcapReader(str(path)) as reader:
        assert reader.nano
        return [bytes(packet) for packet in reader]


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("dims", "npus"), [("2x4", 8), ("4x4", 16)])
def test_the_first_experiment(tmp_path: Path, dims: str, npus: int, kind: str) -> None:
    if dims == "4x4" and not WHOLE:
        pytest.skip("only with RAILYARD_WHOLE_DEMO")
    machine = Machine(tmp_path)
    file = first_experiment(tmp_path)
    options = ["--testbed", "mininet", "--switch", kind, "--dims", dims, "--pcap", "npu0-npu1"]
    code, said, err = railyard(tmp_path, "run", file, *options, "--out", "out")
    assert code == 0, said + err
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert (result["testbed"], result["switch"], result["passed"]) == ("mininet", kind, True)
    figures = result["metrics"]
    variants = [name.partition(".")[0] for name in figures if name.endswith(".npus")]
    assert set(variants) >= {"healthy", "cut"}
    for variant in variants:
        assert figures[f"{variant}.correct_npus"] == figures[f"{variant}.npus"] == npus
        assert figures[f"{variant}.result_crc32"] == figures["healthy.result_crc32"]
        assert figures[f"{variant}.dropped_frames"] == 0
    for variant in (name for name in variants if name in ("cut", "cut-late")):
        assert 0 < figures[f"{variant}.fault_us"] < figures[f"{variant}.completion_us"]
        assert figures[f"{variant}.nodes_notified"] > 0
        assert figures[f"{variant}.entries_rewritten"] > 0
        assert figures[f"{variant}.convergence_us"] > 0
    check_fidelity(result, variants, (tmp_path / "out" / "report.html").read_text(), said)
    for variant in variants:
        frames = frames_of(tmp_path / "out" / f"{variant}-npu0-npu1.pcap")
        assert frames
        assert {int.from_bytes(frame[12:14]) for frame in frames} == {ETHERTYPE}
    assert machine.left() == []


def check_fidelity(result: Mapping[str, Any], variants: list[str], report: str, said: str) -> None:
    """File, report and screen give one verdict on the fidelity of the times."""
    assert set(result["fidelity"]) == set(variants)
    believed = all(item["trustworthy"] for item in result["fidelity"].values())
    stamp, other = "timing trustworthy", "TIMING NOT TRUSTWORTHY"
    if not believed:
        stamp, other = other, stamp
    for text in (report, said):
        assert stamp in text
        assert other not in text
    for entry in result["fidelity"].values():
        assert entry["measured"]["sent_bytes"] > 0
        assert bool(entry["reasons"]) != entry["trustworthy"]


# -- the same scenario on every testbed

SAME = """\
name: same
topology: {{name: full-mesh, dims: [2, 4], lane_rate_gbps: 100}}
collective: {{elements: 65536}}
# Nothing goes again because a processor was busy.
transport: {{window: 32, ack_every: {ack_every}, initial_rto_us: 1000, min_rto_us: 1000}}
"""

PerLink = Mapping[tuple[str, str, int], int]
"""Frames by link, sender and VL."""


@final
@dataclass(frozen=True, slots=True)
class Seen:
    """`carried` is what links say, `sent` what programs do; `captured` of one link, both ways."""

    checksum: bytes
    carried: Mapping[str, tuple[int, int]]
    sent: PerLink
    captured: int
    retransmitted: int

    @property
    def data(self) -> PerLink:
        return {(link, node, vl): count for (link, node, vl), count in self.sent.items() if vl < 2}


def observe(file: Path, choice: TestbedChoice) -> Seen:
    (ready,) = prepare(*load(file))
    fabric = ready.fabric
    testbed: Testbed = choice.make(ready, ready.bound_ps, 1)
    collective = ready.variant.collective
    inputs = [make_data(rank, collective.elements, collective.dtype, 1) for rank in range(len(fabric.nodes))]
    addresses = [node.address for node in fabric.nodes]
    capture = file.with_suffix(f".{choice.name}{choice.switch}.pcap")
    with booted(testbed, ready.plan) as up:
        specs = agent_specs(ready.sliced, inputs, addresses, transport=ready.transport)
        testbed.attach_agents({node.name: spec for node, spec in zip(fabric.nodes, specs, strict=True)})
        testbed.record("npu0-npu1", capture)
        while not testbed.run(testbed.now_ps + 10**12):
            pass
        outcomes = [testbed.outcome(node.name) for node in fabric.nodes]
        counted = {node.name: up.client.read_counter(node.name, "tx_by_port_vl") for node in fabric.nodes}
        usage = testbed.link_usage()
    assert isinstance(ready.sliced, Sliced)
    results = [outcome.result for outcome in outcomes if not isinstance(outcome, MemoryAgent)]
    assert compare(results, inputs, ready.sliced).wrong_ranks == 0
    return Seen(
        checksum=results[0].tobytes(),
        carried={link: (there.frames, back.frames) for link, (there, back) in usage.items()},
        sent={
            (link.name, end.node, vl): counted[end.node].get(4 * end.port + vl, (0, 0))[0]
            for link in fabric.links
            for end in (link.a, link.b)
            for vl in range(4)
        },
        captured=len(frames_of(capture)),
        retransmitted=sum(outcome.stats.retransmitted for outcome in outcomes),
    )


@pytest.mark.long("16-builtin")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ack_every", [1, 16])
def test_the_same_scenario_gives_the_same_everywhere(
    tmp_path: Path, kind: SwitchKind, ack_every: int
) -> None:
    """Results are equal only with an acknowledgement a frame: fewer are sent at times that differ."""
    file = tmp_path / "scenario.yaml"
    file.write_text(SAME.format(ack_every=ack_every))
    virtual, real = observe(file, Embedded()), observe(file, RealTime(kind))
    assert virtual.retransmitted == real.retransmitted == 0
    assert real.checksum == virtual.checksum
    assert sum(virtual.data.values()) > 800
    assert real.data == virtual.data
    if ack_every == 1:
        assert real.sent == virtual.sent
        assert real.carried == virtual.carried
        assert real.captured == virtual.captured == sum(virtual.carried["npu0-npu1"])
    for seen in (virtual, real):
        assert sum(map(sum, seen.carried.values())) == sum(seen.sent.values())
        assert seen.captured == sum(seen.carried["npu0-npu1"])


# -- faults

# Times do not count here, so they need not be long.
DILATION = 100_000

HEAD = """\
name: struck
topology: {name: full-mesh, dims: [2, 4], lane_rate_gbps: 100}
collective: {elements: 131072}
link: {detect_us: 0.5}
control: {processing_us: 0.5, hello_us: 1.5}
transport: {window: 32, initial_rto_us: 10, min_rto_us: 5}
faults:
"""

LINKS = """\
  - {at_us: 0.5, link: npu0-npu1, event: flap, period_us: 2, count: 3}
  - {at_us: 1, port: 'npu5:2'}
  - {at_us: 1, direction: npu2->npu3}
"""

NODES = """\
  - {at_us: 0.5, link: npu0-npu1, event: loss, percent: 20}
  - {at_us: 0.5, switch: npu6, event: rate, percent: 50}
  - {at_us: 1, npu: npu5}
  - {at_us: 4, npu: npu5, event: up}
  - {at_us: 5, board: 1}
  - {at_us: 8, board: 1, event: up}
"""


@pytest.fixture
def struck(tmp_path: Path) -> Callable[[str, SwitchKind], Observation]:
    def observed(faults: str, kind: SwitchKind) -> Observation:
        file = tmp_path / "scenario.yaml"
        file.write_text(HEAD + faults)
        return run(prepare(*load(file)), 1, choice=RealTime(kind, DILATION)).runs["run"].observation

    return observed


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("faults", [LINKS, NODES], ids=["links", "nodes"])
def test_data_are_right_whatever_fails_on_the_way(
    struck: Callable[[str, SwitchKind], Observation], kind: SwitchKind, faults: str
) -> None:
    seen = struck(faults, kind)
    assert seen.correct_nodes == seen.nodes == 8, seen.first_wrong
    assert seen.recovery.entries_rewritten > 0
    assert seen.traffic.lost_with_link > 0
    assert seen.traffic.retransmitted > 0
    assert len(seen.faults) == faults.count("at_us")


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_one_way_that_fails_with_its_carrier_up_is_found_by_hellos(
    struck: Callable[[str, SwitchKind], Observation], kind: SwitchKind
) -> None:
    seen = struck("  - {at_us: 1, direction: npu0->npu1}\n", kind)
    assert seen.correct_nodes == 8, seen.first_wrong
    assert seen.recovery.entries_rewritten > 0


INCAST = """\
name: incast
topology: {name: rail-only, domains: 4, hb_size: 2, radix: 4, uplinks: 1, spines: 1}
routing: {strategy: shortest}
transport: {window: 32, initial_rto_us: 2000, min_rto_us: 2000}
graph:
  operations:
    - {id: first, send: 131072, from: gpu2, to: gpu0}
    - {id: second, send: 131072, from: gpu4, to: gpu0}
    - {id: third, send: 131072, from: gpu6, to: gpu0}
"""


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_without_a_kernel_queue_for_rates_the_built_in_switch_keeps_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: SwitchKind
) -> None:
    """The test pretends that the kernel lacks the queue. A busy machine can only make the run longer."""
    file = tmp_path / "scenario.yaml"
    file.write_text(INCAST)
    ready = prepare(*load(file))
    virtual = run(ready, 1).runs["run"].observation
    real = kernel.missing()
    monkeypatch.setattr(kernel, "missing", lambda: MappingProxyType({**real, kernel.TBF: "pretended"}))
    (only,) = run(ready, 1, choice=RealTime(kind, 200_000)).runs.values()
    seen = only.observation
    assert seen.correct_nodes == seen.nodes
    assert seen.checksum == virtual.checksum
    assert only.fidelity is not None
    measured = only.fidelity.measured
    assert measured.shaped == (kind == "builtin")
    if kind == "builtin":
        assert seen.completion_ps > 0.9 * virtual.completion_ps
        assert "the switches' own pacing" in measured.notes[0]
        assert not measured.drops["switch queue"]


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_an_incast_with_each_congestion_control(tmp_path: Path, kind: SwitchKind) -> None:
    file = ROOT / "experiments" / "45_congestion" / "real-time-incast.yaml"
    code, said, err = railyard(
        tmp_path, "run", file, "--testbed", "mininet", "--switch", kind, "--out", "out"
    )
    assert code == 0, said + err
    metrics = json.loads((tmp_path / "out" / "result.json").read_text())["metrics"]
    for name in ("nscc", "swift", "dcqcn", "rccc", "nscc-rccc"):
        assert metrics[f"{name}.correct_npus"] == metrics[f"{name}.npus"] == 8
