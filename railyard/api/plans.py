# SPDX-License-Identifier: Apache-2.0
"""Plans: routes and table entries of a fabric, and the hops of a frame through its switches."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from controller.errors import PlanError
from controller.plan.entry import BUCKETS, CPU_PORT
from controller.plan.plan import Plan
from controller.planner import make_plan
from railyard.api.records import Record, entry_record
from topologies import HOST_PORT, End, Fabric

__all__ = ["entries", "paths", "plan", "trace"]


def plan(
    fabric: Fabric,
    *,
    scheme: str = "",
    strategy: str = "all-path",
    rules: str = "T2-G",
    demand: Mapping[tuple[str, str], int] | None = None,
    failed: Collection[str] = (),
) -> Plan:
    """Plan the routes of a fabric and the table entries of each of its switches.

    Args:
        fabric: The fabric.
        scheme: Name of the forwarding scheme, or FILE.py:NAME of your own; by default that of the fabric;
            docs/use/schemes.md.
        strategy: Name of the strategy, which selects among the paths of two endpoints; docs/fabrics/paths.md.
        rules: Name of the turn rules that keep the routes free of deadlock; docs/reference/deadlock.md.
        demand: Bytes by (source, destination); the plan minimises the load of the busiest link for them.
            Without it, every pair of endpoints has equal weight.
        failed: Names of links that routes avoid.

    Raises:
        RailyardError: A pair of endpoints has no path, the routes could deadlock, or a name is unknown.
    """
    for name in failed:
        fabric.link(name)
    return make_plan(
        fabric, scheme=scheme, strategy=strategy, rules=rules, demand=demand, failed=frozenset(failed)
    )


def paths(plan: Plan, source: str, destination: str) -> list[Record]:
    """Return the paths from one endpoint to another: nodes, hops, and the share of frames on each."""
    for name in (source, destination):
        plan.fabric.node(name)
    if (source, destination) not in plan.routes:
        raise PlanError(
            f"the plan has no route from {source} to {destination}",
            remedy="name two endpoints that the plan joins",
        )
    shares = plan.shares(source, destination)
    return [{"path": path, "hops": len(path) - 1, "share": share} for path, share in shares.items()]


def entries(plan: Plan, node: str) -> list[Record]:
    """Return the table entries of a node: table, match, action, parameters, priority."""
    plan.fabric.node(node)
    return [entry_record(node, entry) for entry in plan.entries[node]]


def trace(
    plan: Plan, source: str, destination: str, *, bucket: int = 0, cut: Collection[str] = ()
) -> list[Record]:
    """Follow a data frame hop by hop through the P4 programs of a fabric's switches.

    Args:
        plan: Plan whose entries fill the tables.
        source: Endpoint that sends the frame.
        destination: Endpoint that receives the frame.
        bucket: Path bucket of the frame, 0 to 15, which selects one of the planned paths.
        cut: Names of links that are down although tables still use them.

    Returns:
        A record for each hop: hop (its number), node, from (the neighbour that sent the frame), decided_by
        (the rule that chose the port), to (the next node; None if the switch or the link lost the frame) and
        lost (the reason; empty if the frame went on).
    """
    # Import here, because these modules need Scapy, which is slow to import.
    from harness.frames.craft import Order, craft
    from harness.frames.walk import walk

    if not 0 <= bucket < BUCKETS:
        raise PlanError(
            f"the path bucket {bucket} does not exist", remedy=f"give a bucket from 0 to {BUCKETS - 1}"
        )
    fabric = plan.fabric
    frame = craft(fabric, Order(source, destination, bucket=bucket, payload=bytes(16)))
    journey = walk(plan, bytes(frame), End(source, HOST_PORT), frozenset(cut))
    last = len(journey.hops) - 1
    return [
        {
            "hop": number,
            "node": hop.node,
            "from": _neighbour(fabric, hop.node, hop.port_in),
            "decided_by": hop.decided_by,
            "to": None
            if hop.out is None or (number == last and not journey.arrived)
            else _neighbour(fabric, hop.node, hop.out),
            "lost": "" if journey.arrived or number < last else journey.end,
        }
        for number, hop in enumerate(journey.hops)
    ]


def _neighbour(fabric: Fabric, node: str, port: int) -> str:
    if port == HOST_PORT:
        return "host"
    if port == CPU_PORT:
        return "controller"
    end = fabric.peer(node, port)
    return end.node if end else f"port {port}"
