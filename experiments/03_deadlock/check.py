# SPDX-License-Identifier: Apache-2.0
"""Runs the scenario of this folder and says what is true of it; exit code 1 when something is not."""

import sys
from pathlib import Path

from controller.deadlock.dependency_graph import find_cycle, path_graph
from controller.planner import make_plan
from controller.schemes.registry import rule_set
from papers.checking.statements import say
from railyard.command import result_of
from topologies import full_mesh

HERE = Path(__file__).parent


def foreseen(cycle: list[list[str | int]]) -> bool:
    """Return whether the dependency graph of the routes has each wait of an observed cycle."""
    mesh = full_mesh((4, 4))
    rules = rule_set("single-vl", mesh)
    plan = make_plan(mesh, rules="single-vl", check=False)
    graph = path_graph(mesh, {path for paths in plan.routes.values() for path in paths}, rules)
    print(f"circle in the graph: {' -> '.join(channel.to for channel in find_cycle(graph))}")
    held = [(link, str(way).split("->")[1], vl) for link, way, vl in cycle]
    print(f"circle in the run:   {' -> '.join(str(to) for _, to, _ in held)}")
    named = {tuple(before): after for before, after in graph.waits.items()}
    return all(after in named[before] for before, after in zip(held, [*held[1:], held[0]], strict=True))


def main() -> int:
    code, result = result_of(HERE / "scenario.yaml")
    # The circle of every variant that came to a deadlock: (link, "from->to", VL).
    cycles = {name: item["cycle"] for name, item in result["deadlocks"].items()}
    real = list(cycles) == ["one-lane"] and foreseen(cycles["one-lane"])
    return say(
        {
            "all assertions hold": code == 0,
            "only one lane with any turn stops, as its dependency graph foretells": real,
        }
    )


if __name__ == "__main__":
    sys.exit(main())
