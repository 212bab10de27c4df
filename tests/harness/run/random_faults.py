# SPDX-License-Identifier: Apache-2.0
"""Random scenarios of several faults: `python -m tests.harness.run.random_faults --seeds 1-200`.

Each run must end with right data, or say who is cut off; it may give up only if the faults that last leave
some member without a working path to another that the turn rules permit.
"""

import argparse
import random
import sys
from dataclasses import dataclass
from itertools import pairwise, permutations
from typing import Any, final

import networkx as nx

from controller.schemes.registry import rule_set
from harness.run.observation.values import Observation
from harness.run.prepare import prepare
from harness.run.runner import run
from harness.scenario.document import Document
from harness.scenario.loader import read
from topologies import Fabric, full_mesh
from topologies.errors import RailyardError

__all__ = ["Outcome", "judge", "outcome_of", "scenario_of"]

DIMS = ([2, 4], [3, 3], [4, 4], [2, 2, 2], [6])
SILENT = 100
# Hops of the longest detours that sources look for.
_MOST_HOPS = 4


def scenario_of(seed: int) -> dict[str, Any]:
    """Return the scenario of a seed."""
    draw = random.Random(seed)
    dims = draw.choice(DIMS)
    fabric = full_mesh(dims)
    control: dict[str, Any] = {"processing_us": 0.5}
    if draw.random() < 0.5:
        control["hello_us"] = draw.choice([1, 2])
    return {
        "name": f"random-{seed}",
        "topology": {"name": "full-mesh", "dims": dims, "lane_rate_gbps": 100},
        "collective": {
            "algorithm": "bidirectional-dimension-order" if len(dims) == 2 else "dimension-wise",
            "elements": draw.choice([16384, 65536, 131072]),
            "payload_bytes": draw.choice([1024, 4096]),
        },
        "routing": {
            "strategy": draw.choice(["all-path", "all-path", "adaptive"]),
            "notification": draw.choice(["direct", "flooding"]),
            "weights": draw.choice(["traffic-aware", "oblivious"]),
        },
        "link": {"detect_us": 0.5},
        "control": control,
        "faults": _faults(draw, fabric),
    }


def _faults(draw: random.Random, fabric: Fabric) -> list[dict[str, Any]]:
    links = draw.sample([link.name for link in fabric.links], draw.randrange(1, 5))
    faults = [fault for link in links for fault in _of_link(draw, fabric, link)]
    if draw.random() < 0.15:
        node = draw.choice([node.name for node in fabric.nodes])
        faults.append({"at_us": _time(draw), "switch": node, "event": "down"})
    return sorted(faults, key=lambda fault: fault["at_us"])


def _time(draw: random.Random) -> float:
    return round(draw.uniform(0.1, 6), 2)


def _of_link(draw: random.Random, fabric: Fabric, name: str) -> list[dict[str, Any]]:
    """Return the faults of one link: they last, or they end."""
    begin = _time(draw)
    ends = [link.node for link in (fabric.link(name).a, fabric.link(name).b)]
    draw.shuffle(ends)
    target = {"direction": "->".join(ends)} if draw.random() < 0.5 else {"link": name}
    kind = draw.choice(["down", "down", "silent", "silent", "loss", "rate", "flap"])
    if kind == "flap":
        return [{"at_us": begin, "link": name, "event": "flap", "period_us": draw.choice([1, 4]), "count": 3}]
    event: dict[str, Any] = {"event": "down"}
    if kind != "down":
        percent = {"silent": SILENT, "loss": draw.choice([1, 10, 40]), "rate": draw.choice([5, 20])}[kind]
        event = {"event": "rate" if kind == "rate" else "loss", "percent": percent}
    faults = [{"at_us": begin, **target, **event}]
    if draw.random() < 0.3:
        end = "up" if kind == "down" else "clear"
        faults.append({"at_us": round(begin + draw.uniform(1, 20), 2), **target, "event": end})
    return faults


def _working(scenario: dict[str, Any]) -> nx.Graph:
    """Return the links that work in both directions after the last fault."""
    fabric = full_mesh(scenario["topology"]["dims"])
    graph = nx.Graph()
    graph.add_nodes_from(node.name for node in fabric.nodes)
    graph.add_edges_from((link.a.node, link.b.node) for link in fabric.links)
    dead: dict[str, bool] = {}
    for fault in scenario["faults"]:
        target = next(fault[kind] for kind in ("link", "direction", "switch") if kind in fault)
        if fault["event"] == "down" or fault.get("percent") == SILENT:
            dead[target] = True
        elif fault["event"] in ("up", "clear"):
            dead[target] = False
    for target, is_dead in dead.items():
        if not is_dead:
            continue
        if "->" in target:
            ends = target.split("->")
            graph.remove_edges_from(pairwise(ends))
        elif target in graph:
            graph.remove_edges_from(list(graph.edges(target)))
        else:
            link = fabric.link(target)
            graph.remove_edges_from([(link.a.node, link.b.node)])
    return graph


@final
@dataclass(frozen=True)
class Outcome:
    """Outcome of a run: what is wrong with it, empty for nothing; its time in us, None without a result."""

    wrong: str
    completion_us: float | None = None
    sent_again: int = 0


def judge(scenario: dict[str, Any]) -> str:
    """Run a scenario; return what is wrong with the outcome, or nothing."""
    return outcome_of(scenario).wrong


def outcome_of(scenario: dict[str, Any]) -> Outcome:
    """Run a scenario and judge it."""
    prepared = prepare(*read(Document.of_values(scenario)))
    try:
        (done,) = run(prepared, 1).runs.values()
    except RailyardError as ex:
        return Outcome(f"raised {ex}")
    results: Observation = done.observation
    if results.correct_nodes == results.nodes:
        return Outcome("", (results.completion_ps or 0) / 10**6, results.traffic.retransmitted)
    separated = _separated(scenario, _working(scenario))
    if not separated:
        return Outcome(f"gave up though every pair has a permitted path: {results.first_wrong}")
    if any(node in results.first_wrong for node in separated) or "rank" in results.first_wrong:
        return Outcome("")
    return Outcome(f"names none of {separated}: {results.first_wrong}")


def _separated(scenario: dict[str, Any], graph: nx.Graph) -> set[str]:
    """Return the nodes of pairs without a path that the turn rules permit and a source route steers."""
    fabric = full_mesh(scenario["topology"]["dims"])
    rules = rule_set("T2-G", fabric)
    return {
        node
        for pair in permutations(graph.nodes, 2)
        if not any(
            rules.vls_of(fabric, tuple(path)) is not None
            for path in nx.all_simple_paths(graph, *pair, cutoff=_MOST_HOPS)
        )
        for node in pair
    }


def main() -> int:
    """Run the seeds of the command line; print those at fault."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", default="1-200")
    first, last = (int(number) for number in parser.parse_args().seeds.split("-"))
    outcomes = []
    for seed in range(first, last + 1):
        outcome = outcome_of(scenario_of(seed))
        outcomes.append(outcome)
        if outcome.completion_us is not None:
            print(
                f"{seed} right after {outcome.completion_us:.2f} us, {outcome.sent_again} frames sent again"
            )
        else:
            print(seed, outcome.wrong or "ends by naming who is cut off")
        sys.stdout.flush()
    right = [outcome for outcome in outcomes if outcome.completion_us is not None]
    wrong = sum(bool(outcome.wrong) for outcome in outcomes)
    print(f"{len(outcomes)} scenarios: {len(right)} right, {wrong} at fault, the others name who is cut off")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
