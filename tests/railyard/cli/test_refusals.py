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
        ("broken.json", "broken.json:3: the file is not JSON"),
        ("broken.graphml", "broken.graphml:2: the file is not XML"),
        ("raises.py:make", "raises.py:2: IndexError: list index out of range; correct the file"),
        ("none.json", "No such file or directory; give "),
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
        (["--p4", BUILD / "ipv4.json"], "ipv4.json has no p4info; give --p4info FILE.txtpb"),
        (["--p4", "none.p4"], "none.p4: the file does not exist"),
        (
            ["--p4", BUILD / "ipv4.json", "--p4info", BUILD / "ipv4.p4info.txtpb", "--entries", "rows.json"],
            "rows.json: n0[0]: table ipv9 is not in the p4info; did you mean ipv4?",
        ),
        (["--entries", "rows.json"], "give the program with --p4"),
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
    assert "0 members" in err


BASE = "name: mine\ntopology: {name: full-mesh, dims: [2, 4]}\n"

OWN = """
from emulation.traffic.collectives.bounds import send_bound_ps
from emulation.traffic.collectives.declaration import Algorithm, CollectiveKind
from emulation.traffic.schedule.schedule import Combine, Schedule, Transfer

def raises(request):
    return [][request.ranks]

def once_round(request):
    n, size = request.ranks, request.elements
    sends = [Transfer(0, rank, (rank + 1) % n, 0, size, Combine.REDUCE) for rank in range(n)]
    return Schedule("once", n, size, tuple(sends))

def least(capacity):
    return send_bound_ps(capacity.data_bytes, max(capacity.port_rates))

def kind(build, bound=least):
    return CollectiveKind("own", (Algorithm("one", build, needs_grid=False),), bound, "D/P")

raising, incomplete, empty = kind(raises), kind(once_round), kind(lambda request: None)
unbounded = kind(once_round, lambda capacity: capacity.rate)

def half(request):
    sends = (Transfer(0, 1, 0, 0, request.elements / 2, Combine.REDUCE),)
    return Schedule("half", request.ranks, request.elements, sends)

halved, boundless = kind(half), kind(once_round, lambda capacity: None)
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "study: {set: {link.detekt_us: [1, 2]}}\n",
            "mine.yaml:3: study: link.detekt_us = 1: unknown key 'detekt_us' in link",
        ),
        (
            "study:\n  set:\n    link.detect_us: [1, 2]\n    routing.strategy: [tables, shortes]\n",
            "mine.yaml:6: study: routing.strategy = shortes: routing.strategy: 'shortes' is not",
        ),
        ("study: {set: {link: 3}}\n", "mine.yaml:3: study: link = 3: "),
        (
            "study: {set: {a: [1, 2], b: [1]}, combine: list}\n",
            "mine.yaml:3: study: `combine: list` needs equally many",
        ),
        ("study: {fail_each: link}\n", "no variant with a fault"),
        (
            "link: {credit_bytes: 10}\n",
            "mine.yaml:3: `credit_bytes: 10` is less than a frame, which has 4096 bytes of data and 62",
        ),
        ("collective: {kind: {python: 'own.py:raising'}}\n", "own.py:7: IndexError: list index out of range"),
        ("collective: {kind: {python: 'own.py:empty'}}\n", "an algorithm returned NoneType, not a Schedule"),
        ("collective: {kind: {python: 'own.py:unbounded'}}\n", "own.py:21: AttributeError: 'Capacity'"),
        ("collective: {kind: {python: 'own.py:halved'}}\n", "not whole numbers; divide elements by //"),
        (
            "collective: {kind: {python: 'own.py:boundless'}}\n",
            "own.py:boundless: bound_ps returned None; return",
        ),
        (
            "collective: {kind: {python: 'own.py:incomplete'}}\n",
            "without values of ranks [1, 2, 3, 4, 5, 6]; correct the transfers that own.py:incomplete",
        ),
        (
            "collective: {algorithm: multi-ring, elements: 6400, grid: [2, 4]}\n",
            "expected two even sizes from 4, but 2 is too small",
        ),
    ],
)
def test_check_finds_it_before_a_run_would(railyard: Railyard, text: str, message: str) -> None:
    Path("own.py").write_text(OWN)
    Path("mine.yaml").write_text(BASE + text)
    code, _, err = railyard("check", "mine.yaml")
    assert code == 2, err
    assert message in " ".join(err.split())
    assert "Traceback" not in err


def test_check_proves_a_right_schedule_and_counts_a_study(railyard: Railyard) -> None:
    Path("own.py").write_text(
        OWN + "from emulation.traffic.collectives.rings import allreduce_ring\n"
        "right = kind(lambda request: allreduce_ring(range(request.ranks), request.elements))\n"
    )
    study = "study: {set: {link.detect_us: [1, 2, 5]}, seeds: [1, 2]}\n"
    Path("mine.yaml").write_text(BASE + "collective: {kind: {python: 'own.py:right'}}\n" + study)
    code, out, err = railyard("check", "mine.yaml")
    assert code == 0, err
    assert "the schedule allreduce-ring-8 fulfils its goals for any data" in out
    assert "study: 3 points" in out


def test_an_allreduce_is_direct_where_halves_do_not_fit(railyard: Railyard) -> None:
    nx.write_graphml(
        nx.relabel_nodes(nx.petersen_graph(), {node: f"n{node}" for node in range(10)}), "petersen.graphml"
    )
    Path("mine.yaml").write_text("name: mine\ntopology: {file: petersen.graphml}\n")
    assert railyard("check", "mine.yaml")[0] == 0
    Path("mine.yaml").write_text(
        "name: mine\ntopology: {file: petersen.graphml}\n"
        "collective: {algorithm: bidirectional-dimension-order}\n"
    )
    code, _, err = railyard("check", "mine.yaml")
    assert (code, "mine.yaml:3" in err) == (2, True)


def test_a_topology_of_a_variant_is_refused_with_the_axis_that_varies_it(railyard: Railyard) -> None:
    text = (
        "name: x\ntopology: {name: full-mesh, dims: [2, 2]}\nvariants: [{name: a, topology: {name: hpn}}]\n"
    )
    Path("two.yaml").write_text(text)
    code, _, err = railyard("check", "two.yaml")
    assert (code, "give an axis `topology` of `study:`" in " ".join(err.split())) == (2, True)


@pytest.mark.parametrize("option", ["--junit", "--links", "--incidents", "--json"])
def test_a_file_that_cannot_be_written_is_refused_before_the_run(railyard: Railyard, option: str) -> None:
    Path("plain").write_text("no folder")
    code, out, err = railyard("run", "mine.yaml", option, "plain/file")
    assert (code, out) == (3, "")
    assert f"{option} plain/file: the file cannot be written" in err
    assert "plain is no folder; give another file" in err
    code, _, err = railyard("run", "mine.yaml", option, ".")
    assert (code, f"{option} .: the file cannot be written: it is a folder" in err) == (3, True)
