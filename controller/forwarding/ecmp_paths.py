# SPDX-License-Identifier: Apache-2.0
"""Follow the paths of the 16 buckets of many pairs at once, through ECMP switches."""

import numpy as np
from numpy.typing import NDArray

from controller.forwarding.ecmp import EcmpGroup
from controller.forwarding.next_hop import TableSource
from controller.forwarding.pipeline import flow_hash
from controller.paths.source_route import MAX_HOPS
from controller.plan.entry import BUCKETS
from controller.plan.path_columns import PathColumns
from controller.plan.routes import Routes
from topologies.model.columns import columns

__all__ = ["ecmp_columns", "port_of_bucket"]

# Lowest bit of the header field lb (load balancing) that selects the source's port. If bit 1 selects between
# two ports, the other seven bits of lb reach all 60 uplinks of either ToR; if bit 0 selects, they reach 58
# (tests/controller/test_path_probing.py).
_PORT_BIT = 1

# Node numbers of 16 bits that `_routes` packs into a word of 64 bits, to compare paths.
_NODES_A_WORD = 4

Ints = NDArray[np.int64]


def port_of_bucket(bucket: int, ports: int) -> int:
    """Return the number of the source's port for a bucket, from 0 to `ports` - 1.

    The numbers of buckets of any two ports differ by at most 1.
    """
    rotated = bucket >> _PORT_BIT | (bucket & (1 << _PORT_BIT) - 1) * (BUCKETS >> _PORT_BIT)
    return rotated % ports


def ecmp_columns(tables: TableSource, candidates: PathColumns) -> Routes | None:
    """Return the path of every bucket of the pairs of `candidates`.

    The result is None if a node on a path has no `ecmp_table`.

    A source route steers a frame to the first switch of a candidate path; from there, switches choose by
    hash. The path of bucket b is the path of a frame with lb b.
    """
    table = columns(candidates.fabric)
    begun, lengths = _steered(candidates, table.tiers)
    pairs = candidates.pairs
    destinations = np.repeat(pairs.destinations.astype(np.int64), BUCKETS)
    addresses = table.addresses[destinations]
    hashes = flow_hash(
        np.repeat(table.addresses[pairs.sources], BUCKETS),
        addresses,
        np.tile(np.arange(BUCKETS), len(pairs)),
    )
    nodes = np.full((len(destinations), MAX_HOPS + 1), -1, np.int32)
    width = min(candidates.nodes.shape[1], nodes.shape[1])
    nodes[:, :width] = candidates.nodes[begun, :width]
    nodes[np.arange(nodes.shape[1]) > lengths[:, None]] = -1
    at = lengths.copy()
    open_states = np.flatnonzero(nodes[np.arange(len(at)), at] != destinations)
    while len(open_states := open_states[at[open_states] < MAX_HOPS]):
        current = nodes[open_states, at[open_states]]
        following = np.full(len(open_states), -1, np.int32)
        for node in np.flatnonzero(np.bincount(current)).tolist():
            ecmp = tables.ecmp_table(table.names[node])
            if ecmp is None:
                return None
            here = np.flatnonzero(current == node)
            wanted, which = np.unique(addresses[open_states[here]], return_inverse=True)
            groups = [ecmp.group_of(tables.finder, address) for address in wanted.tolist()]
            following[here] = _selected(groups, which, hashes[open_states[here]], tables)
        open_states, following = open_states[following >= 0], following[following >= 0]
        at[open_states] += 1
        nodes[open_states, at[open_states]] = following
        open_states = open_states[following != destinations[open_states]]
    return _routes(candidates, nodes[:, : int(at.max(initial=1)) + 1])


def _steered(candidates: PathColumns, tiers: NDArray[np.int32]) -> tuple[Ints, Ints]:
    """Return a candidate path for each pair and bucket, and its number of hops to the first switch.

    Both arrays have shape (pairs * buckets,). A candidate is given by its row in `candidates.nodes`; a path
    without a switch counts all its hops. The buckets of a pair spread evenly over its distinct first hops.
    """
    heads = candidates.nodes[:, 1:]
    first = candidates.pair_of * len(tiers) + heads[:, 0]
    _, rows = np.unique(first, return_index=True)
    rows.sort()  # for each pair and first hop: the first candidate, in the order of the candidates
    counts = np.bincount(candidates.pair_of[rows], minlength=len(candidates.pairs))
    begin = np.cumsum(counts) - counts
    ports = np.zeros((counts.max(initial=0) + 1, BUCKETS), np.int64)
    for count in range(1, len(ports)):
        ports[count] = [port_of_bucket(bucket, count) for bucket in range(BUCKETS)]
    begun = rows[begin[:, None] + ports[counts]].reshape(-1)
    switch = (heads[begun] >= 0) & (tiers[heads[begun]] > 0)
    lengths = np.where(switch.any(axis=1), switch.argmax(axis=1) + 1, candidates.lengths[begun])
    return begun, lengths


def _selected(
    groups: list[EcmpGroup], which: NDArray[np.intp], hashes: Ints, tables: TableSource
) -> NDArray[np.int32]:
    """Return the number of the node that hash i selects in `groups[which[i]]`; -1 in an empty group."""
    fabric = tables.finder.fabric
    widest = max(1, *(len(group.neighbours) for group in groups))
    members = np.full((len(groups), widest), -1, np.int32)
    for number, group in enumerate(groups):
        members[number, : len(group.neighbours)] = [fabric.node(name).index for name in group.neighbours]
    sizes = np.array([max(len(group.neighbours), 1) for group in groups])[which]
    shifts = np.array([group.shift for group in groups])[which]
    masks = np.array([group.mask for group in groups])[which]
    chosen = np.where(sizes > 1, (hashes >> shifts & masks) % sizes, 0)
    return members[which, chosen]


def _routes(candidates: PathColumns, nodes: NDArray[np.int32]) -> Routes:
    """Return the routes of all pairs; equal paths of a pair are stored once.

    Rows 16 p to 16 p + 15 of `nodes` have the nodes of the paths of pair p, a row for each bucket.
    """
    count = len(candidates.pairs)
    equal = np.ones((count, BUCKETS, BUCKETS), np.bool_)
    for begin in range(1, nodes.shape[1], _NODES_A_WORD):
        word = np.zeros(len(nodes), np.int64)
        for step in range(begin, min(begin + _NODES_A_WORD, nodes.shape[1])):
            word = word << 16 | (nodes[:, step] + 1)
        words = word.reshape(count, BUCKETS)
        equal &= words[:, :, None] == words[:, None, :]
    first = equal.argmax(axis=2)
    is_first = first == np.arange(BUCKETS)
    rank = np.take_along_axis(np.cumsum(is_first, axis=1) - 1, first, axis=1)
    pair, bucket = np.nonzero(is_first)
    paths = PathColumns.collected(candidates.pairs, [pair], [nodes[pair * BUCKETS + bucket]])
    return Routes(paths, paths.first[:-1][:, None] + rank)
