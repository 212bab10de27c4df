# SPDX-License-Identifier: Apache-2.0
"""The circle of a deadlock beside the dependency graph of the routes."""

from collections.abc import Mapping
from typing import Any

from controller.deadlock.dependency_graph import path_graph
from controller.planner import make_plan
from controller.schemes.registry import rule_set
from topologies import full_mesh


def foreseen(result: Mapping[str, Any]) -> Mapping[str, float]:
    """Return whether the dependency graph of the routes has each wait of the observed circle."""
    mesh = full_mesh((4, 4))
    rules = rule_set("single-vl", mesh)
    plan = make_plan(mesh, rules="single-vl", check=False)
    graph = path_graph(mesh, {path for paths in plan.routes.values() for path in paths}, rules)
    cycle = result.get("deadlocks", {}).get("one-lane", {"cycle": []})["cycle"]
    held = [(link, str(way).split("->")[1], vl) for link, way, vl in cycle]
    named = {tuple(before): after for before, after in graph.waits.items()}
    waits = zip(held, [*held[1:], *held[:1]], strict=True)
    return {"foreseen": float(bool(held) and all(after in named[before] for before, after in waits))}
