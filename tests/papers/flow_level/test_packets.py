# SPDX-License-Identifier: Apache-2.0
"""Completion by flows beside what the packet engine takes, on small fabrics."""

from pathlib import Path

import numpy as np
import pytest

from emulation.traffic.frames.wire import DATA_HEADER_BYTES
from harness.errors import ModelError
from harness.run.prepare import Prepared, prepare
from harness.run.runner import observe
from harness.scenario.loader import load
from harness.scenario.schema import ELEMENT_BYTES
from tests.papers.flow_level.flows import routes
from tests.papers.flow_level.packets import completion_seconds, drained, planned_ways

ALL_TO_ALL = "{kind: all-to-all, algorithm: direct, elements: 262144, payload_bytes: 4096}"
ALL_EQUAL = "{algorithm: direct, elements: 9216, payload_bytes: 1024}"
ALLREDUCE = "{algorithm: direct, elements: 262144, payload_bytes: 4096}"


def ready(path: Path, topology: str, collective: str) -> Prepared:
    path.write_text(
        f"name: small\ntopology: {{{topology}}}\ncollective: {collective}\nrouting: {{strategy: all-path}}\n"
    )
    return prepare(*load(path))[0]


def predicted(run: Prepared, *, planned: bool) -> float:
    """Seconds; by the paths of the plan, or by all that are shortest."""
    schedule = run.sliced.schedule
    pairs = sorted(
        {(run.members[transfer.source], run.members[transfer.target]) for transfer in schedule.transfers}
    )
    overhead = DATA_HEADER_BYTES / (run.sliced.slice_elements * ELEMENT_BYTES)
    ways = planned_ways(run.plan, pairs) if planned else None
    return completion_seconds(run.fabric, schedule, run.members, ways, overhead=overhead)


@pytest.mark.long
@pytest.mark.parametrize(
    ("topology", "collective"),
    [
        ("name: rail-only, domains: 4, hb_size: 4", ALL_TO_ALL),
        ("name: rail-only, domains: 2, hb_size: 4, inside: switch", ALLREDUCE),
        ("name: rail-optimised, domains: 4, hb_size: 4, radix: 8", ALL_TO_ALL),
        ("name: rail-optimised, domains: 4, hb_size: 2, radix: 4", ALLREDUCE),
        ("name: full-mesh, dims: [8]", ALL_TO_ALL),
    ],
)
def test_flows_take_as_long_as_packets_within_a_tenth(tmp_path: Path, topology: str, collective: str) -> None:
    run = ready(tmp_path / "small.yaml", topology, collective)
    seen = observe(run, 1)
    assert (seen.correct_nodes, seen.first_wrong) == (len(run.members), "")
    seconds = predicted(run, planned=True)
    # Frames queue and are acknowledged, so packets take longer.
    assert 0.9 < seconds / (seen.completion_ps / 1e12) <= 1.0


def test_a_plan_of_one_hop_paths_is_as_good_as_all_shortest(tmp_path: Path) -> None:
    """In a line all are neighbours; in a square the plan takes one of two orders, whose links are as busy."""
    for dims in ("[4]", "[3, 3]"):
        run = ready(tmp_path / "small.yaml", f"name: full-mesh, dims: {dims}", ALL_EQUAL)
        assert predicted(run, planned=False) == pytest.approx(predicted(run, planned=True))


def test_who_is_done_leaves_room() -> None:
    flows = routes([[(0, 1.0)], [(0, 1.0), (1, 1.0)]])
    # Half each until the first is done at 2; then the second alone, by its narrow link no faster.
    assert drained(flows, np.array([1.0, 3.0]), np.array([1.0, 1.0])) == pytest.approx(4.0)
    assert drained(flows, np.array([1.0, 3.0]), np.array([1.0, 0.5])) == pytest.approx(6.0)
    with pytest.raises(ModelError, match="flow 1 has no capacity"):
        drained(flows, np.array([1.0, 3.0]), np.array([1.0, 0.0]))


def test_pairs_without_a_way_are_told(tmp_path: Path) -> None:
    run = ready(tmp_path / "small.yaml", "name: full-mesh, dims: [4]", ALLREDUCE)
    with pytest.raises(ModelError, match="no way from npu0 to npu1"):
        completion_seconds(run.fabric, run.sliced.schedule, run.members, {})
    with pytest.raises(ModelError, match="no route from npu0 to npu9"):
        planned_ways(run.plan, [("npu0", "npu9")])
