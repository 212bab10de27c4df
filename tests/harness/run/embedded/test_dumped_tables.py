# SPDX-License-Identifier: Apache-2.0
"""No deadlock over all paths of a run: the dependencies of channels, from tables read back after each write.

Frames are walked here by the entries alone, as p4/ub_npu.p4 treats them, with no code of the planner.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

import networkx as nx
import pytest

from controller import make_plan
from controller.plan.entry import Entry
from controller.plan.plan import Plan
from emulation.control.loop import ControlLoop
from harness.run.prepare import prepare
from harness.run.runner import observe
from harness.scenario.document import Document
from harness.scenario.loader import read
from tests.harness.run.embedded.scenarios import cut_line
from tests.harness.run.random_faults import scenario_of
from topologies import HOST_PORT, Fabric, full_mesh

MAX_HOPS = 12
Channel = tuple[str, str, int]


class Switch:
    """The tables of a node, as they were read from it."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.exact: dict[str, dict[tuple[int, ...], Mapping[str, int]]] = {}
        self.prefixes: list[tuple[int, int, Mapping[str, int]]] = []
        for entry in entries:
            params = dict(entry.params)
            values: list[Any] = [match for _, match in entry.match]
            if entry.table == "segment":
                value, length = (values[0].value, values[0].prefix) if values else (0, 0)
                self.prefixes.append((length, value, params))
            else:
                key = tuple(match.value for match in values)
                self.exact.setdefault(entry.table, {})[key] = params
        self.prefixes.sort(key=lambda prefix: -prefix[0])

    def table_port(self, dcna: int) -> int | None:
        """Return the port to which the address tables send a frame."""
        for length, value, params in self.prefixes:
            if dcna >> (16 - length) == value >> (16 - length):
                index = params["base"] + (dcna >> params["shift"] & params["mask"])
                entry = self.exact["linear"].get((index,))
                return None if entry is None else entry["port"]
        return None


def walk(
    fabric: Fabric, switches: Mapping[str, Switch], source: str, dcna: int, bitmap: int, instr: int
) -> Iterator[Channel]:
    """Yield the channels of a frame with this source route, until it is delivered or dropped."""
    node, ingress, vl = source, HOST_PORT, 0
    for hop in range(MAX_HOPS):
        switch = switches[node]
        if bitmap >> (11 - hop) & 1:
            before = (bitmap >> (12 - hop)).bit_count()
            port: int | None = instr >> (40 - 8 * before) & 0xFF
        else:
            port = switch.table_port(dcna)
        if port is None or (port,) not in switch.exact["departure"]:
            return
        arrival, departure = switch.exact["arrival"][ingress,], switch.exact["departure"][port,]
        turn = (arrival["group"], arrival["up"], departure["group"], departure["up"], vl)
        if port == HOST_PORT or turn not in switch.exact["vl_turn"]:
            return
        vl = switch.exact["vl_turn"][turn]["vl"]
        link = fabric.link_at(node, port)
        assert link is not None
        end = link.far(node)
        yield node, end.node, vl
        node, ingress = end.node, end.port


class Dependencies:
    """Channels of all frames that the tables of a run have led, at any time."""

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        self.graph: nx.DiGraph[Channel] = nx.DiGraph()
        self.longest = 0
        self.dumps = 0
        self.switches: dict[str, Switch] = {}

    def dumped(self, node: str, entries: Iterable[Entry]) -> None:
        self.switches[node] = Switch(entries)
        self.dumps += 1

    def installed(self, plan: Plan) -> None:
        for node, entries in plan.entries.items():
            self.dumped(node, entries)

    def follow(self, sources: Iterable[str]) -> None:
        """Add the source routes of these nodes, and the paths of frames without one between all nodes."""
        for source in sources:
            for (dcna, _), route in self.switches[source].exact["all_path"].items():
                self._add(walk(self.fabric, self.switches, source, dcna, route["bitmap"], route["instr"]))
        for source in self.switches:
            for node in self.fabric.nodes:
                self._add(walk(self.fabric, self.switches, source, node.address, 0, 0))

    def _add(self, channels: Iterator[Channel]) -> None:
        path = list(channels)
        self.longest = max(self.longest, len(path))
        self.graph.add_edges_from(pairwise(path))


@pytest.mark.parametrize("seed", [51, 114, None])
def test_the_paths_of_a_run_with_faults_cannot_deadlock(
    seed: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sources whose paths fall silent get paths of up to four hops from their controllers.

    Without a seed: a cut in a line of three, whose ends take paths through other lines.
    """
    cut = cut_line([3, 5], at_us=1, elements=131072, control_us=0.5)
    (ready,) = prepare(*read(Document.of_values(scenario_of(seed) if seed else cut)))
    dependencies = Dependencies(ready.fabric)
    start, note_written = ControlLoop.start, ControlLoop._note_written

    def first(loop: ControlLoop, *rest: Any) -> None:
        for node in ready.fabric.nodes:
            dependencies.dumped(node.name, loop._client.read(node.name))
        dependencies.follow(dependencies.switches)
        start(loop, *rest)

    def later(loop: ControlLoop, node: str, *rest: Any) -> None:
        note_written(loop, node, *rest)
        dependencies.dumped(node, loop._client.read(node))
        dependencies.follow([node])

    monkeypatch.setattr(ControlLoop, "start", first)
    monkeypatch.setattr(ControlLoop, "_note_written", later)
    results = observe(ready, 1)
    assert results.correct_nodes == results.nodes
    assert (results.recovery.repath_requests > 0) == bool(seed)
    assert dependencies.dumps > len(ready.fabric.nodes)
    assert dependencies.longest >= 3
    assert nx.is_directed_acyclic_graph(dependencies.graph)


@pytest.mark.parametrize("rules", ["T2-G", "T2-V", "T2-DOR", "T1-UD", "T1-DOR+"])
@pytest.mark.parametrize("strategy", ["all-path", "adaptive", "detour"])
@pytest.mark.parametrize("known", [True, False])
def test_planned_and_standby_paths_of_every_strategy_cannot_deadlock(
    rules: str, strategy: str, known: bool
) -> None:
    """The tables hold the routes of standby buckets as well; a demand of few pairs brings longer paths."""
    fabric = full_mesh([4, 3])
    demand = {("npu0", "npu5"): 1e6, ("npu1", "npu2"): 3e6, ("npu11", "npu4"): 2e6} if known else None
    plan = make_plan(fabric, strategy=strategy, rules=rules, demand=demand, standby=4)
    dependencies = Dependencies(fabric)
    dependencies.installed(plan)
    dependencies.follow(dependencies.switches)
    delivered = 0
    for source, switch in dependencies.switches.items():
        for (dcna, _), route in switch.exact["all_path"].items():
            *_, last = walk(fabric, dependencies.switches, source, dcna, route["bitmap"], route["instr"])
            delivered += fabric.node(last[1]).address == dcna
    assert delivered == 16 * len(plan.routes)
    assert dependencies.longest <= 5
    stands_by = any(0.0 in weights for weights in plan.weights.values())
    assert stands_by or not (known or (strategy == "adaptive" and rules == "T2-G"))
    assert nx.is_directed_acyclic_graph(dependencies.graph)


def test_every_pair_of_a_cube_has_two_paths_without_a_cycle() -> None:
    """The rules order Z before X and Y, so pairs that differ in Z and X have a single path of two hops."""
    plan = make_plan(full_mesh([4, 4, 4]))
    dependencies = Dependencies(plan.fabric)
    dependencies.installed(plan)
    fewest = MAX_HOPS
    for source, switch in dependencies.switches.items():
        routes = {(dcna, *entry.values()) for (dcna, _), entry in switch.exact["all_path"].items()}
        paths = Counter(dcna for dcna, *_ in routes)
        fewest = min(fewest, *paths.values())
        assert len(paths) == 63
        for route in routes:
            channels = list(walk(plan.fabric, dependencies.switches, source, *route))
            assert plan.fabric.node(channels[-1][1]).address == route[0]
            dependencies.graph.add_edges_from(pairwise(channels))
    dependencies.follow([])
    assert fewest >= 2
    assert {vl for *_, vl in dependencies.graph} == {0, 1}
    assert nx.is_directed_acyclic_graph(dependencies.graph)


def test_both_orders_on_one_lane_are_reported() -> None:
    """The walk finds the cycle of a plan that ignores the rules: otherwise it would show little."""
    plan = make_plan(full_mesh([4, 4]), rules="single-vl", check=False)
    dependencies = Dependencies(plan.fabric)
    dependencies.installed(plan)
    dependencies.follow(dependencies.switches)
    assert not nx.is_directed_acyclic_graph(dependencies.graph)
