"""Topologies that a command line names, as scenarios have them."""

from pathlib import Path

import networkx as nx
import pytest

import railyard
from railyard.cli.options import topology_of


def test_a_topology_of_a_command_line_is_one_of_a_scenario(tmp_path: Path) -> None:
    nx.write_graphml(nx.cycle_graph(["a", "b", "c"]), tmp_path / "ring.graphml")
    (tmp_path / "own.py").write_text("import networkx as nx\ndef ring(n=4):\n    return nx.cycle_graph(n)\n")
    named = [
        (("full-mesh", "2x2", ()), {"name": "full-mesh", "dims": (2, 2)}, 4),
        ((f"{tmp_path}/ring.graphml", "", ()), {"file": f"{tmp_path}/ring.graphml"}, 3),
        (
            (f"{tmp_path}/own.py:ring", "", ("n=5",)),
            {"python": f"{tmp_path}/own.py:ring", "params": {"n": 5}},
            5,
        ),
    ]
    for given, topology, nodes in named:
        assert topology_of(*given) == topology
        scenario = {"name": "small", "topology": topology, "collective": {"elements": 64}}
        assert len(railyard.run(scenario).fabric.nodes) == nodes
    with pytest.raises(Exception, match="has no dims"):
        topology_of(f"{tmp_path}/ring.graphml", "3x3")
