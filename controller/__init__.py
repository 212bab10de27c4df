# SPDX-License-Identifier: Apache-2.0
"""Floor 2: a Fabric, what is to be sent and what failed, in; a Plan out.

Knows topologies; emulation and lab know it. Nothing here opens a socket but `p4runtime`.

Values: an `Entry` is one row of one table of one switch, an `Update` one change of a row, a `Plan` all rows
of a fabric with the routes they were made from. A `Path` is the names of the nodes it visits.

    paths         every simple path of a few hops, in one fixed order
    source_route  the 8-byte source-route header
    turn_rules    which turns a frame may take and on which VL        -> tables arrival, departure, vl_turn
    channels      lanes of links as numbers, and the turns between them
    deadlock      the channel dependency graph, and the cycle in it if there is one
    tfc           what a rule set admits on a fabric, by class and length
    switch_paths  paths by switches alone, searched once for all endpoints below them
    all_path      which of the paths a source uses                    -> table all_path
    weights       what share each of them carries, dealt out by deal
    cover         which addresses lie below a switch
    segment       which addresses an array of ports is for
    linear        structured addresses as small direct-indexed tables -> tables segment, linear
    programs      tables that only some programs have
    rails         switches that are on a rail                         -> table rail
    multipath     several ways to one place                           -> table multipath
    core          optical circuits between Pods: several to one, few, or none
    by_hash       the strategy of a source that chooses its port and leaves the rest to the hash
    precise       which path each value of lb takes, worked out; imported by its name
    circuits/     circuits between Pods for a demand, arrays only; rewire: the plans of their change
    crux/         who sends first and over which path, arrays only
    pxn           another rail by way of a neighbour                  -> tables pxn_segment, pxn
    relays        source routes by way of a neighbour
    planner       all of these, put together
    recovery      what one node changes and whom it tells when a link fails
    spare         the plan with spares in the places of what is gone, and who finds that out
    reach         what failures have cut off, in words
    hello         whether the two ends of a link hear each other; imported by its name
    lacp          which ports of a NIC are in its bundle; imported by its name
    withdrawn     routes around neighbours that have lost a link below them
    diff          the updates between two sets of entries
    p4runtime     the client that writes entries into switches; imported by its name, since it loads gRPC
"""

from controller.diff import Update, diff
from controller.errors import DeadlockError, InstallError, PlanError
from controller.plan import (
    BUCKETS,
    CPU_PORT,
    Entry,
    Exact,
    Lpm,
    Match,
    Optional,
    Path,
    Plan,
    Range,
    Strategy,
    Ternary,
)
from controller.planner import make_plan
from controller.recovery.node_controller import Mode, NodeController, Notice, Outgoing, Reaction, Subscription

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
    "Strategy",
    "Ternary",
    "Update",
    "Subscription",
    "diff",
    "make_plan",
]
