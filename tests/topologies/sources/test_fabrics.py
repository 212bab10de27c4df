# SPDX-License-Identifier: Apache-2.0
"""Fabrics from files and Python functions: equal to what was saved, or refused with element and remedy."""

import json
import re
from pathlib import Path

import networkx as nx
import pytest

from topologies import End, TopologyError, from_graph, full_mesh
from topologies.families.declaration import Family
from topologies.model.codec import to_json
from topologies.sources.exports import to_graphml
from topologies.sources.fabrics import is_outside, open_fabric


def ring(nodes: int = 5) -> nx.Graph:
    graph = nx.cycle_graph([f"n{number}" for number in range(nodes)])
    graph.edges["n0", "n1"].update(rate_gbps=100.0, delay_ns=70.0)
    return graph


def test_a_saved_fabric_comes_back(tmp_path: Path) -> None:
    for fabric in (full_mesh([3, 3]), from_graph(ring(), "ring")):
        path = tmp_path / "fabric.json"
        path.write_text(to_json(fabric))
        assert open_fabric(str(path)) == fabric


def test_graphml_and_node_link_json_make_the_same_fabric_as_the_graph(tmp_path: Path) -> None:
    graph = ring()
    nx.write_graphml(graph, tmp_path / "ring.graphml")
    (tmp_path / "linked.json").write_text(json.dumps(nx.node_link_data(graph, edges="edges")))
    wanted = from_graph(graph, "ring")
    assert open_fabric(str(tmp_path / "ring.graphml")) == wanted
    linked = open_fabric(str(tmp_path / "linked.json"))
    assert (linked.nodes, linked.links) == (wanted.nodes, wanted.links)
    slow = wanted.link("n0-n1")
    assert (slow.rate_bps, slow.delay_ps) == (100 * 10**9, 70_000)


def test_graphml_keeps_the_rate_of_links_of_several_lanes(tmp_path: Path) -> None:
    fabric = full_mesh([3], lanes=4)
    (tmp_path / "mesh.graphml").write_text(to_graphml(fabric))
    again = open_fabric(str(tmp_path / "mesh.graphml"))
    assert fabric.links[0].lanes == 4
    assert {link.rate_bps for link in again.links} == {link.rate_bps for link in fabric.links}


def test_parallel_links_and_switches_of_a_multigraph(tmp_path: Path) -> None:
    graph = nx.MultiGraph(rate_gbps=200)
    graph.add_node("s", kind="switch", tier=1)
    graph.add_edges_from([("a", "s"), ("a", "s"), ("b", "s")])
    nx.write_graphml(graph, tmp_path / "star.graphml")
    fabric = open_fabric(str(tmp_path / "star.graphml"))
    assert [node.tier for node in fabric.nodes] == [1, 0, 0]
    assert [link.name for link in fabric.links_between("a", "s")] == ["s-a", "s-a.2"]
    assert {link.rate_bps for link in fabric.links} == {200 * 10**9}


def test_a_function_of_a_file_gets_its_parameters(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("import networkx as nx\ndef make(nodes=3):\n    return nx.complete_graph(nodes)\n")
    assert len(open_fabric(f"{path}:make", {"nodes": 4}).links) == 6
    path.write_text("from topologies import full_mesh as mine\n")
    assert isinstance(full_mesh, Family)
    assert open_fabric(f"{path}:mine", {"dims": [4]}) == full_mesh([4])


def test_a_file_that_imports_its_neighbour_is_told_that_it_stands_alone(tmp_path: Path) -> None:
    (tmp_path / "neighbour.py").write_text("NODES = 3\n")
    (tmp_path / "mine.py").write_text("from neighbour import NODES\ndef make():\n    return NODES\n")
    told = r"mine.py:1: neighbour.py beside the file is not imported.*install neighbour as a package"
    with pytest.raises(TopologyError, match=told):
        open_fabric(f"{tmp_path}/mine.py:make")


def test_names_of_families_are_no_files() -> None:
    assert not is_outside("ub-rack")
    assert all(map(is_outside, ("x/fabric.json", "a.graphml", "mine.py:make")))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda g: g.add_edge("a", "b"), "no path joins a, b to n0"),
        (
            lambda g: g.add_node("x", kind="hub"),
            "node x: kind 'hub' is not known; give npu, gpu, switch, router, host",
        ),
        (
            lambda g: g.add_node("x y"),
            "'x y' is not a name of a node; name it by letters, digits, dots, - and _ without spaces",
        ),
        (
            lambda g: g.add_node("x", tier=1),
            "node x: a npu cannot have tier 1; leave it out, or give the node kind switch",
        ),
        (
            lambda g: g.add_edge("n0", "n1", rate_gbps=0),
            "edge n0 to n1: rate_gbps is 0; give a number above 0",
        ),
        (
            lambda g: g.add_edge("n0", "n2", speed=1),
            "edge n0 to n2 has an unknown attribute 'speed'; use one of delay_ns, ports, rate_gbps, or leave",
        ),
        (lambda g: g.add_edge("n0", "n0"), "edge n0 to n0 has both ends at the same node"),
        (
            lambda g: g.add_node("h", kind="host"),
            "host h has 0 edges; give a host a single edge, to a switch",
        ),
        (
            lambda g: g.add_edge("n0", "n2", ports="n1:3"),
            "ports is 'n1:3', expected NODE:NUMBER; write",
        ),
        (
            lambda g: g.add_edge("n0", "n2", ports="n0:0"),
            "edge n0 to n2 has port 0 of n0, which does not exist; use ports 1 to 255",
        ),
        (
            lambda g: g.add_edges_from((("n0", "n2", {"ports": "n0:9"}), ("n0", "n3", {"ports": "n0:9"}))),
            "share port 9 of n0; give each its own number",
        ),
    ],
)
def test_a_wrong_graph_is_refused_by_element(change, message: str, tmp_path: Path) -> None:
    graph = ring()
    change(graph)
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(nx.node_link_data(graph, edges="links")))
    with pytest.raises(TopologyError, match=re.escape(message)) as raised:
        open_fabric(str(path))
    assert str(raised.value).startswith(str(path))


def test_addresses_and_ports_have_an_end() -> None:
    with pytest.raises(TopologyError, match="8193 nodes need addresses of 14 bits; an address has 13"):
        from_graph(nx.path_graph(8193), "long")
    with pytest.raises(TopologyError, match="hub has more than 255 links"):
        from_graph(nx.star_graph(["hub", *range(256)]), "star")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", '{"nodes": [\n}', "the file is not JSON: Expecting value; correct the line"),
        ("a.json", '{"nodes": [{"id": 1}]}', "a.json is not node-link JSON: no 'edges'"),
        (
            "a.graphml",
            "<graphml>\n<",
            "the file is not XML: unclosed token: line 2, column 0; correct the line",
        ),
        (
            "a.graphml",
            None,
            "cannot be read: No such file or directory; give JSON of `railyard show --json`, GraphML,",
        ),
        ("a.py:make", "def make():\n    return 1 / 0\n", "a.py:2: ZeroDivisionError: division by zero"),
        ("a.py:make", "def make(:\n", "a.py:1: SyntaxError"),
        (
            "a.py:make",
            "import networkx\nfrom math import sqrt\nfrom json import loads\nmade = 1\ndef ring(): pass\n",
            "has no 'make'; use one of its names: made, ring",
        ),
        ("a.py:make", "def make(): return 3\n", "a.py:make returned int; return a Fabric"),
    ],
)
def test_a_wrong_file_is_refused_by_line(name: str, text: str | None, message: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / name.partition(":")[0]).write_text(text)
    with pytest.raises(TopologyError, match=re.escape(message)):
        open_fabric(str(tmp_path / name))


def test_two_ends_on_one_port_are_named(tmp_path: Path) -> None:
    document = json.loads(to_json(from_graph(ring(), "ring")))
    document["links"][1]["a"] = document["links"][0]["a"]
    (tmp_path / "f.json").write_text(json.dumps(document))
    with pytest.raises(TopologyError, match="links n0-n1 and n0-n4 share port 1 of n0"):
        open_fabric(str(tmp_path / "f.json"))


def test_edges_choose_ports_and_hosts_stand_at_ports_of_switches(tmp_path: Path) -> None:
    graph = nx.MultiGraph()
    graph.add_nodes_from(("s1", "s2"), kind="switch")
    graph.add_node("h1", kind="host")
    graph.add_edge("s1", "s2")
    graph.add_edge("s1", "s2", ports="s1:1 s2:7")
    graph.add_edge("h1", "s1", ports="s1:5")
    nx.write_graphml(graph, tmp_path / "two.graphml")
    fabric = open_fabric(str(tmp_path / "two.graphml"))
    assert [(link.a.port, link.b.port) for link in fabric.links] == [(2, 1), (1, 7)]
    assert fabric.host_ends() == {"h1": End("s1", 5)}
    (tmp_path / "two.json").write_text(to_json(fabric))
    assert open_fabric(str(tmp_path / "two.json")) == fabric


TUTORIAL = {
    "hosts": {"h1": {"ip": "10.0.1.1/24"}, "h2": {}},
    "switches": {"s1": {"runtime_json": "s1.json"}, "s2": {}},
    "links": [["h1", "s1-p1"], ["s1-p3", "s2-p2", "2us", 100], ["s2-p1", "h2"]],
}


def test_a_topology_of_the_p4_tutorials(tmp_path: Path) -> None:
    path = tmp_path / "topology.json"
    path.write_text(json.dumps(TUTORIAL))
    fabric = open_fabric(str(path))
    assert fabric.host_ends() == {"h1": End("s1", 1), "h2": End("s2", 1)}
    (link,) = fabric.links
    assert (link.a, link.b, link.delay_ps, link.rate_bps) == (End("s1", 3), End("s2", 2), 2 * 10**6, 10**8)


@pytest.mark.parametrize(
    ("link", "message"),
    [
        (["h1"], "links[3] is ['h1'], not a list of 2 to 4 items; write"),
        (["h1", "s3-p1"], "links[3]: the file has no switch or host named 's3'; write"),
        (["s1-p4", "s2-p4", "soon"], "links[3]: the latency 'soon' cannot be read; write it as 10ms or 5us"),
        (["s1-p3", "s2-p4"], "edges s1-s2 and s1-s2 share port 3 of s1"),
    ],
)
def test_a_wrong_link_of_a_tutorial_is_refused(link: list[str], message: str, tmp_path: Path) -> None:
    path = tmp_path / "topology.json"
    path.write_text(json.dumps({**TUTORIAL, "links": [*TUTORIAL["links"], link]}))
    with pytest.raises(TopologyError, match=re.escape(message)) as raised:
        open_fabric(str(path))
    assert str(raised.value).startswith(str(path))
