# SPDX-License-Identifier: Apache-2.0
"""Timeouts of a variant: a healthy run on lossless links sends no frame again."""

from pathlib import Path
from typing import Any

import networkx as nx
import pytest

import railyard
from harness.run.prepare import Prepared, prepare
from harness.scenario.document import Document
from harness.scenario.loader import read

US = 10**6
ALL_TO_ALL = {"kind": "all-to-all", "algorithm": "direct", "elements": 65_536}
RAILS = {"name": "rail-optimised", "domains": 8, "hb_size": 4, "spines": 1, "uplinks": 1}


def racks(folder: Path, uplink_gbps: float, *, nvlink: bool = False) -> dict[str, Any]:
    """Return a GraphML fabric: four servers of two GPUs, a ToR for each rail, a spine."""
    graph = nx.Graph(name="racks", rate_gbps=400)
    graph.add_node("spine", kind="switch", tier=2)
    for rail in range(2):
        graph.add_node(f"tor{rail}", kind="switch", tier=1)
        graph.add_edge(f"tor{rail}", "spine", rate_gbps=uplink_gbps)
    for server in range(4):
        if nvlink:
            graph.add_node(f"nvlink{server}", kind="switch", tier=1)
        for rail in range(2):
            gpu = f"server{server}-gpu{rail}"
            graph.add_node(gpu, kind="gpu")
            graph.add_edge(gpu, f"tor{rail}")
            if nvlink:
                graph.add_edge(gpu, f"nvlink{server}", rate_gbps=3600.0)
    nx.write_graphml(graph, folder / "racks.graphml")
    return {"file": str(folder / "racks.graphml")}


def values(topology: dict[str, Any], strategy: str, **more: Any) -> dict[str, Any]:
    return {
        "name": "own",
        "topology": topology,
        "collective": ALL_TO_ALL,
        "routing": {"strategy": strategy},
        **more,
    }


def ready(*given: Any, **more: Any) -> Prepared:
    return prepare(*read(Document.of_values(values(*given, **more))))[0]


@pytest.mark.parametrize("nvlink", [False, True])
@pytest.mark.parametrize("strategy", ["all-path", "adaptive"])
def test_nothing_goes_again_on_an_oversubscribed_spine(tmp_path: Path, strategy: str, nvlink: bool) -> None:
    result = railyard.run(values(racks(tmp_path, 100.0, nvlink=nvlink), strategy))
    assert result.verdict.metrics["run.retransmitted_frames"] == 0


def test_nothing_goes_again_where_switches_choose_by_hash() -> None:
    result = railyard.run({**values(RAILS, "hashed"), "collective": {**ALL_TO_ALL, "elements": 1_048_576}})
    assert result.verdict.metrics["run.retransmitted_frames"] == 0


def test_timeouts_cover_the_wait_of_full_windows(tmp_path: Path) -> None:
    transport = ready(racks(tmp_path, 100.0), "all-path").transport
    # 4 x 4 pairs, each with 8 frames of 4,096 bytes and headers, over 100 Gbit/s.
    wait = 4 * 4 * 8 * 4096 * 8 / 100e3 * US
    assert wait < transport.path_rto_ps < 1.05 * wait + 4 * US  # with an acknowledgement's delay and way
    assert transport.path_rto_ps == transport.min_rto_ps < transport.initial_rto_ps == 100 * US


def test_timeouts_stay_where_no_switch_is_oversubscribed(tmp_path: Path) -> None:
    transport = ready(racks(tmp_path, 1600.0), "all-path").transport
    assert (transport.path_rto_ps, transport.min_rto_ps) == (2.5 * US, 25 * US)


def test_timeouts_of_the_scenario_stay(tmp_path: Path) -> None:
    topology = racks(tmp_path, 100.0)
    given = ready(topology, "all-path", transport={"initial_rto_us": 10, "min_rto_us": 5}).transport
    assert (given.initial_rto_ps, given.min_rto_ps, given.path_rto_ps) == (10 * US, 5 * US, 5 * US)
    lossy = {"queues": {"data": {"frames": 16}}}
    assert ready(topology, "all-path", link=lossy).transport.path_rto_ps == 2.5 * US
