# SPDX-License-Identifier: Apache-2.0
"""Every verb refuses what a user brings and does not fit: file, line or element, value and remedy."""

import json
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import pytest

from emulation.embedded.testbed import EmbeddedTestbed
from topologies import from_graph
from topologies.model.codec import to_json

BUILD = Path(__file__).resolve().parents[2] / "programs" / "build"
Railyard = Callable[..., tuple[int, str, str]]

RING = nx.cycle_graph(["n0", "n1", "n2"])


@pytest.fixture(autouse=True)
def _nothing_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    def started(bed: EmbeddedTestbed) -> None:
        raise AssertionError(f"{bed.fabric.name} was started")

    monkeypatch.setattr(EmbeddedTestbed, "start", started)


def document(change: Callable[[dict], None]) -> str:
    content = json.loads(to_json(from_graph(RING, "ring")))
    change(content)
    return json.dumps(content)


def two_on_a_port(content: dict) -> None:
    content["links"][1]["a"] = content["links"][0]["a"]


def long_address(content: dict) -> None:
    content["nodes"][1]["address"] = 1 << 16


FILES = {
    "apart.json": json.dumps(
        nx.node_link_data(nx.Graph([("a", "b"), ("c", "d"), ("d", "e")]), edges="edges")
    ),
    "port.json": document(two_on_a_port),
    "address.json": document(long_address),
    "broken.json": '{"nodes": [\n\n}',
    "broken.graphml": "<graphml>\n<node",
    "raises.py": "def make():\n    return [][1]\n",
    "rows.json": '{"n0": [{"table": "ipv9"}]}',
    "ring.json": document(lambda content: None),
}


@pytest.mark.parametrize(
    ("fabric", "message"),
    [
        ("apart.json", "no path joins a, b to c"),
        ("port.json", "links n0-n1 and n0-n2 share port 1 of n0"),
        ("address.json", "n1: address 0x10000 does not fit 16 bits"),
        ("broken.json", "broken.json:3: not JSON"),
        ("broken.graphml", "broken.graphml:2: not XML"),
        ("raises.py:make", "raises.py:2: IndexError: list index out of range; correct the file"),
        ("none.json", "none.json: No such file or directory; give "),
    ],
)
@pytest.mark.parametrize("verb", ["show", "up", "craft", "run", "check", "sweep"])
def test_a_fabric_that_does_not_fit(railyard: Railyard, verb: str, fabric: str, message: str) -> None:
    for name, text in FILES.items():
        Path(name).write_text(text)
    if verb in ("run", "check", "sweep"):
        key = "python" if ".py:" in fabric else "file"
        Path("mine.yaml").write_text(f'name: mine\ntopology: {{{key}: "{fabric}"}}\n')
        arguments = [verb, "mine.yaml", *(["--seeds", "1..2"] if verb == "sweep" else [])]
    else:
        arguments = [verb, fabric, *(["--from", "n0", "--to", "n1"] if verb == "craft" else [])]
    code, _, err = railyard(*arguments)
    assert code == 2, err
    assert message in " ".join(err.split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--p4", BUILD / "ipv4.json"], "ipv4.json: a program without p4info; give --p4info FILE.txtpb"),
        (["--p4", "none.p4"], "none.p4: no such file"),
        (
            ["--p4", BUILD / "ipv4.json", "--p4info", BUILD / "ipv4.p4info.txtpb", "--entries", "rows.json"],
            "rows.json: n0[0]: table ipv9 is not in the p4info; did you mean ipv4?",
        ),
        (["--entries", "rows.json"], "belongs to a program: give --p4"),
    ],
)
def test_a_program_that_does_not_fit(railyard: Railyard, options: list, message: str) -> None:
    for name, text in FILES.items():
        Path(name).write_text(text)
    code, _, err = railyard("up", "ring.json", *options)
    assert code == 2, err
    assert message in " ".join(err.replace("│", " ").split())


def test_hosts_at_ports_are_no_members_of_a_collective(railyard: Railyard) -> None:
    graph = nx.Graph([("h1", "s1"), ("s1", "s2"), ("s2", "h2")])
    for name, data in graph.nodes(data=True):
        data["kind"] = "host" if name[0] == "h" else "switch"
    nx.write_graphml(graph, "hosts.graphml")
    Path("mine.yaml").write_text("name: mine\ntopology: {file: hosts.graphml}\n")
    code, _, err = railyard("run", "mine.yaml")
    assert code == 2
    assert "mine.yaml" in err
    assert "0 NPUs" in err
