# SPDX-License-Identifier: Apache-2.0
"""Strategies that spray, on every kind of fabric: right data with a slow link, and with a lost one."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from emulation.traffic.host.path_choice import SPRAYS
from harness.errors import ScenarioError
from harness.report.measurement.metrics import measure
from harness.run.prepare import prepare
from harness.run.runner import run
from harness.scenario.loader import load

GUIDE = Path(__file__).resolve().parents[4] / "docs" / "use" / "congestion.md"
FABRICS = {
    "{name: full-mesh, dims: [2, 4]}": "npu0-npu1",
    "{name: hpn, segments: 2, hosts: 2, rails: 2, aggs: 4}": "tor0.0.0-agg0.0",
    "{name: rail-only, domains: 8, hb_size: 2, radix: 4, uplinks: 2, spines: 2}": "rail1l0-rail1s0",
    "{name: fat-tree, ports: 4}": "agg0.0-core0.0",
    "{name: ecmp-clos}": "agg0-core0",
}
SCENARIO = """
name: sprayed
topology: TOPOLOGY
collective: {kind: all-to-all, elements: 8192}
routing: {strategy: SPRAY, peers: job}
transport: {congestion: nscc}
link: {queues: {data: {frames: 16, trim: true}}, ecn: {first_frames: 4, last_frames: 12}}
faults: [{at_us: 1, link: LINK, FAULT}]
"""


@pytest.mark.parametrize("spray", SPRAYS)
@pytest.mark.parametrize("fault", ["event: rate, percent: 10", "event: down"])
@pytest.mark.parametrize("topology", FABRICS, ids=["mesh", "hpn", "rails", "fat tree", "ecmp"])
def test_data_is_right_with_a_slow_link_and_with_a_lost_one(
    write: Callable[[str], Path], topology: str, fault: str, spray: str
) -> None:
    text = SCENARIO.replace("TOPOLOGY", topology).replace("SPRAY", spray).replace("LINK", FABRICS[topology])
    (only,) = run(prepare(*load(write(text.replace("FAULT", fault)))), 1).runs.values()
    assert only.observation.correct_nodes == only.observation.nodes > 0


def test_sprayed_frames_of_a_clos_use_all_cores_alike(write: Callable[[str], Path]) -> None:
    text = SCENARIO.replace("TOPOLOGY", "{name: ecmp-clos, hosts: 4, tors: 2, aggs: 4, cores: 16}")
    text = text.replace("SPRAY", "oblivious").replace("faults: [{at_us: 1, link: LINK, FAULT}]\n", "")
    (only,) = run(prepare(*load(write(text))), 1).runs.values()
    usage = only.observation.link_usage
    ups = [usage[name][0].frames for name in usage if name.startswith("agg") and "-core" in name]
    assert len(ups) == 64
    assert max(ups) < 1.1 * sum(ups) / len(ups)


def test_the_guides_figures_of_a_slow_link_are_those_of_its_scenario(write: Callable[[str], Path]) -> None:
    text = GUIDE.read_text(encoding="utf-8")
    scenario = re.search(r"```yaml\n# spraying.yaml\n(.*?)```", text, re.DOTALL)
    assert scenario
    runs = run(prepare(*load(write(scenario[1]))), 1).runs
    times = {name: f"{measure(done)['completion_us']:.1f}" for name, done in runs.items()}
    said = text[scenario.end() :]
    assert times["oblivious"] == times["bitmap"] == times["mixed"]
    assert [times[name] in said for name in ("hashed", "oblivious", "reps")] == [True] * 3
    assert float(times["reps"]) < float(times["mixed"]) < float(times["hashed"])


def test_connections_with_a_path_each_are_refused(write: Callable[[str], Path]) -> None:
    text = SCENARIO.replace("TOPOLOGY", "{name: full-mesh, dims: [4]}").replace("SPRAY", "reps")
    text = text.replace("LINK", "npu0-npu1").replace("FAULT", "event: down")
    with pytest.raises(ScenarioError, match="strategy reps chooses a path for each frame"):
        prepare(*load(write(text.replace("congestion: nscc", "connections: {count: 2}, congestion: nscc"))))
