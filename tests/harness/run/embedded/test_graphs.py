# SPDX-License-Identifier: Apache-2.0
"""An AllReduce over graph families and random graphs has the right data, healthy and with a link cut."""

import random
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from controller.deadlock.dependency_graph import find_cycle, permitted_graph
from controller.schemes.registry import rule_set
from harness.run.prepare import prepare
from harness.run.runner import observe
from harness.scenario.document import Document
from harness.scenario.loader import read
from harness.scenario.schema import Fault
from tests.controller.schemes.test_graph import irregular, regular
from topologies import Fabric, from_graph
from topologies.model.codec import to_json

SEEDS = range(50)
FAMILIES: dict[str, dict[str, Any]] = {
    "dragonfly": {"routers": 2, "hosts": 1, "global_links": 1},
    "dragonfly-plus": {"hosts": 1, "global_links": 1},
    "torus": {"dims": (3, 3)},
    "hyperx": {"dims": (2, 3), "hosts": 1},
    "fat-tree": {"ports": 4},
    "slim-fly": {"q": 5, "hosts": 0},
    "jellyfish": {"switches": 8, "degree": 3, "hosts": 1},
    "bcube": {"ports": 3},
}


def assert_right(topology: dict[str, Any], seed: int) -> None:
    """Run healthy, and with a random link cut that leaves the fabric connected."""
    values = {
        "name": "graph",
        "topology": topology,
        "collective": {"kind": "allreduce", "algorithm": "direct", "elements": 640, "payload_bytes": 256},
        "link": {"detect_us": 1},
        "control": {"processing_us": 1},
        "transport": {"window": 32, "initial_rto_us": 10, "min_rto_us": 5},
    }
    item = prepare(*read(Document.of_values(values)))[0]
    fabric = item.fabric
    assert not find_cycle(permitted_graph(fabric, rule_set("T2-G", fabric)))
    cuts = [link.name for link in fabric.links if stays_connected(fabric, link.name)]
    for faults in ([], [random.Random(seed).choice(cuts)] if cuts else []):
        struck = tuple(Fault.model_validate({"at_us": 0.5, "link": name}) for name in faults)
        seen = observe(item.with_faults(struck), seed)
        assert seen.correct_nodes == seen.nodes, (faults, seen.first_wrong)


def stays_connected(fabric: Fabric, cut: str) -> bool:
    graph = nx.MultiGraph()
    graph.add_nodes_from(node.name for node in fabric.nodes)
    graph.add_edges_from((link.a.node, link.b.node) for link in fabric.links if link.name != cut)
    return nx.is_connected(graph)


@pytest.mark.long("fat-tree", "slim-fly")
@pytest.mark.parametrize("name", FAMILIES)
def test_families(name: str) -> None:
    assert_right({"name": name, **FAMILIES[name]}, seed=1)


@pytest.mark.long(*(f"{kind}-{seed}" for kind in ("regular", "irregular") for seed in SEEDS if seed > 1))
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ["regular", "irregular"])
def test_random_graphs(kind: str, seed: int, tmp_path: Path) -> None:
    graph = regular(seed) if kind == "regular" else irregular(seed)
    path = tmp_path / "fabric.json"
    path.write_text(to_json(from_graph(graph, f"{kind}-{seed}")))
    assert_right({"file": str(path)}, seed)
