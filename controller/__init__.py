# SPDX-License-Identifier: Apache-2.0
"""Floor 2: make a Plan from a Fabric, the traffic to send and the failed links.

This package imports topologies; emulation and harness import this package. Only `p4runtime` opens a socket.

Values: an `Entry` is one row of one table of one switch, an `Update` a change of one row, a `Plan` all rows
of a fabric, with the routes from which the rows were made. A `Path` is a tuple of the names of its nodes.

    errors        PlanError, DeadlockError, InstallError
    garbage       pauses of the garbage collector, for plans of millions of objects
    plan/         the values: entries, paths, a plan, updates between two sets of entries
    deadlock/     turn rules, virtual lanes, channel dependency graph
    paths/        path search, shares of paths, standby paths, source routes
    tables/       rows of the tables of each P4 program
    forwarding/   what installed entries do to a frame
    schemes/      a class for each forwarding scheme: mesh, rails, clos, optical, graph
    path_probing  the path of a frame for each value of header field lb; loads numpy, so import it by its name
    planner       make_plan: routes, entries of every node, and the nodes to notify when a link fails
    recovery/     reaction of a node to failures; hellos, LACP, spares
    circuits/     optical circuits between Pods for a demand, and plans to change circuits
    trees/        trees of switches that combine values (reductions), and their slots
    jobs/         priorities and paths of jobs (Crux)
    discovery/    discovery of a fabric by source-routed requests; comparison of its cables with the plan
    p4runtime/    client that writes entries into switches

A room is a module or a folder of this floor; it imports only itself and rooms before it.
Order of the rooms: errors, garbage, plan, deadlock, paths, tables, forwarding, schemes, path_probing,
planner, recovery, circuits, trees, jobs, discovery, p4runtime.
"""

from controller.errors import DeadlockError, InstallError, PlanError
from controller.plan.diff import diff
from controller.plan.entry import (
    BUCKETS,
    CPU_PORT,
    Entry,
    Exact,
    Lpm,
    Match,
    Optional,
    Path,
    Range,
    Ternary,
)
from controller.plan.plan import Plan
from controller.plan.updates import Update
from controller.planner import make_plan
from controller.recovery.messages import Mode, Notice, Outgoing, Reaction, Subscription
from controller.recovery.node_controller import NodeController

__all__ = [
    "BUCKETS",
    "CPU_PORT",
    "DeadlockError",
    "Entry",
    "Exact",
    "InstallError",
    "Lpm",
    "Match",
    "Mode",
    "NodeController",
    "Notice",
    "Optional",
    "Outgoing",
    "Path",
    "Plan",
    "PlanError",
    "Range",
    "Reaction",
    "Subscription",
    "Ternary",
    "Update",
    "diff",
    "make_plan",
]
