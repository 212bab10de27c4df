# SPDX-License-Identifier: Apache-2.0
"""Trees, rows and random frames with which tests compare the programs that combine values."""

from collections.abc import Mapping
from random import Random

from finsy.proto import p4r

from controller import Entry, Exact
from controller.p4runtime.replication import multicast_group
from controller.tables.actions import ARRIVE, FROM_CHILD, FROM_PARENT, SET_TREE, SET_TREE_NEIGHBOUR
from emulation.traffic.frames.values import Combining, ReductionKind
from emulation.traffic.tree.wire import EVERY_LEAF, ReductionFields
from tests.oracle.slot_machine import Neighbour, TreeAt

__all__ = ["OWN", "PORTS", "TREES", "drawn", "entries", "groups"]

OWN = 0x2001
PORTS = range(1, 10)

# Tree 3 has its root at the switch, tree 700 continues above port 9.
TREES = {
    3: TreeAt(OWN, 0, 4, {port: Neighbour(0x100 + port, 0, port - 1, port - 1) for port in (1, 2, 3)}),
    700: TreeAt(
        OWN,
        4,
        8,
        {2: Neighbour(0x102, 1, 0, 0), 4: Neighbour(0x3004, 0, 1, 6), 5: Neighbour(0x105, 0, 7, 7)},
        9,
        Neighbour(0x4001, 1),
    ),
}


def entries(trees: Mapping[int, TreeAt] = TREES) -> list[Entry]:
    """Return the rows by which a switch knows trees."""
    rows = [ARRIVE.entry((("port", Exact(port)),), 2, 1) for port in PORTS]
    for number, tree in trees.items():
        at = ("tree", Exact(number))
        root = tree.parent is None
        every = (1 << len(tree.children)) - 1
        rows.append(
            SET_TREE.entry((at,), OWN, tree.base, tree.cells - 1, every, root, tree.parent or 0, number + 1)
        )
        for bit, (port, child) in enumerate(tree.children.items()):
            here = (at, ("port", Exact(port)))
            rows.append(FROM_CHILD.entry(here, 1 << bit))
            rows.append(SET_TREE_NEIGHBOUR.entry(here, child.cna, child.vl, child.first, child.last))
        if tree.parent is not None:
            assert tree.above is not None
            here = (at, ("port", Exact(tree.parent)))
            rows.append(FROM_PARENT.entry(here))
            rows.append(SET_TREE_NEIGHBOUR.entry(here, tree.above.cna, tree.above.vl, 0, EVERY_LEAF))
    return rows


def groups(trees: Mapping[int, TreeAt] = TREES) -> list[p4r.PacketReplicationEngineEntry]:
    """Return the multicast groups by which results of trees go down."""
    return [multicast_group(number + 1, tuple(tree.children)) for number, tree in trees.items()]


def drawn(random: Random, tree: int, newest: dict[int, int]) -> tuple[int, ReductionFields]:
    """Return a frame of a tree and the port by which it comes; numbers of blocks grow slowly."""
    at = TREES[tree]
    newest[tree] += random.random() < 0.15
    kind = ReductionKind.CONTRIBUTION
    ports: list[int] = list(at.children)
    if at.parent is not None and random.random() < 0.3:
        kind, ports = ReductionKind.RESULT, [at.parent]
    if random.random() < 0.05:
        ports = list(PORTS)
    values = random.choice((b"", bytes(256), b"\xff" * 256, random.randbytes(256), random.randbytes(256)))
    block = max(0, newest[tree] - random.choice((0, 0, 0, 0, 1, 2, at.cells)))
    fields = ReductionFields(
        kind,
        tree if random.random() > 0.02 else 5,
        block,
        random.randrange(1 << 16),
        OWN,
        operation=random.choice(list(Combining)),
        wide=random.random() < 0.5,
        wrapped=random.random() < 0.1,
        owner=random.choice((EVERY_LEAF, 0, 1, 6, 7)),
        scale=random.randrange(300),
        values=values,
        route=random.choice((None, 17)),
    )
    return random.choice(ports), fields
