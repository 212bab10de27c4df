# SPDX-License-Identifier: Apache-2.0
"""The programs that combine values on the engine and on BMv2: scripted exchanges and random frames.

Registers decide what a frame causes, so frames of different ports must not overtake each other. After each
frame the same port gets a fence: a frame of a tree of its own, which answers at once. The slot machine of
the oracle judges both switches as well.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from random import Random

import pytest

from emulation.traffic.frames.values import VALUE_BYTES, Combining, ReductionKind
from emulation.traffic.tree.wire import EVERY_LEAF, ReductionFields, write_frame
from harness.run.boot import read_program
from tests.differential.bmv2 import NODE
from tests.differential.differential import Differential, Frame
from tests.emulation.programs.reduce_frames import OWN, PORTS, TREES, drawn, entries, groups
from tests.oracle.slot_machine import Neighbour, SlotMachine, TreeAt

pytestmark = pytest.mark.bmv2

# A tree a port with a single child, whose contributions are results.
FENCES = {
    1000 + port: TreeAt(OWN, 12 + 2 * port, 2, {port: Neighbour(0x500 + port, 0, 0, 0)}) for port in PORTS
}
ALL_TREES: Mapping[int, TreeAt] = {**TREES, **FENCES}
ROOT, INNER = TREES
CHILDREN = tuple(TREES[INNER].children)
PARENT = TREES[INNER].parent or 0

Step = tuple[int, ReductionFields]
Script = Callable[["Maker"], list[Step]]


class Pair:
    """Both switches and the slot machine, with the same trees."""

    def __init__(self, pair: Differential) -> None:
        self.pair = pair
        for client in pair.clients:
            client.replicate(NODE, groups(ALL_TREES))
        self._machine = SlotMachine(ALL_TREES)
        self._fence = 0
        self.block = 1

    def exchange(self, steps: Sequence[Step]) -> tuple[Counter[Frame], Counter[Frame], Counter[Frame]]:
        """Return the frames that the slot machine, the engine and BMv2 send."""
        truth, engine, bmv2 = Counter[Frame](), Counter[Frame](), Counter[Frame]()
        for number, (port, fields) in enumerate(steps, 1):
            self._fence += 1
            tree = 1000 + port
            fence = ReductionFields(ReductionKind.CONTRIBUTION, tree, self._fence, 0x500 + port, OWN)
            for sent in (fields, fence):
                answer = self._machine.on_frame(port, sent)
                if not isinstance(answer, str):
                    truth.update((to, write_frame(frame)) for to, frame in answer.items())
            frames = [(port, write_frame(sent)) for sent in (fields, fence)]
            quiet = 0.1 if number == len(steps) else 0.0
            ours, theirs = self.pair.exchange(frames, quiet_seconds=quiet)
            engine += ours
            bmv2 += theirs
        return truth, engine, bmv2


class Maker:
    """Makes the frames of a script; `block` and later blocks have not been seen before."""

    def __init__(self, block: int, operation: Combining, wide: bool, owner: int, seed: int) -> None:
        self.block = block
        self._more = {"operation": operation, "wide": wide, "owner": owner}
        self._random = Random(seed)

    def up(self, tree: int, port: int, later: int = 0, *, empty: bool = False, most: bool = False) -> Step:
        """Return a contribution; `most` has the largest values, whose sums wrap."""
        values = b"" if empty else self._random.randbytes(VALUE_BYTES)
        if most:
            item = 8 if self._more["wide"] else 4
            values = (b"\x7f" + b"\xff" * (item - 1)) * (VALUE_BYTES // item)
        kind = ReductionKind.CONTRIBUTION
        scale = self._random.randrange(1 << 16)
        source = 0x100 + port
        fields = ReductionFields(kind, tree, self.block + later, source, OWN, scale=scale, values=values)
        return port, fields._replace(route=7 if self._random.random() < 0.5 else None, **self._more)

    def down(self, later: int = 0, *, empty: bool = False, port: int = PARENT) -> Step:
        """Return a result of the parent."""
        values = b"" if empty else self._random.randbytes(VALUE_BYTES)
        kind = ReductionKind.RESULT
        fields = ReductionFields(kind, INNER, self.block + later, 0x4001, OWN, values=values, wrapped=True)
        return port, fields._replace(**self._more)


def _root(make: Maker, later: int = 0) -> list[Step]:
    return [make.up(ROOT, port, later) for port in (1, 2, 3)]


def _inner(make: Maker, later: int = 0) -> list[Step]:
    return [*(make.up(INNER, port, later) for port in CHILDREN), make.down(later)]


def _late(make: Maker) -> list[Step]:
    steps = [*_root(make), *_root(make, 2), *_root(make, 4), make.up(ROOT, 1)]
    return [*steps, *_root(make, 5)[:2], make.up(ROOT, 1, 2)]


def _lost_above(make: Maker) -> list[Step]:
    below = [make.up(INNER, port) for port in CHILDREN]
    return [*below, make.up(INNER, 4), make.down(), make.up(INNER, 5), make.up(INNER, 2)]


def _without_values(make: Maker) -> list[Step]:
    inner = [make.up(INNER, port, empty=port != 4) for port in CHILDREN]
    return [*inner, make.down(empty=True), *(make.up(ROOT, port, empty=True) for port in (1, 2, 3))]


def _unexpected_results(make: Maker) -> list[Step]:
    steps = [make.down(), make.up(INNER, 2), make.down(), *_inner(make)[1:]]
    return [*steps, make.down(), make.down(8)]


def _strangers(make: Maker) -> list[Step]:
    steps = [make.up(ROOT, 1), make.up(ROOT, 4), make.up(INNER, 1), make.down(port=3), make.up(ROOT, 2)]
    return [*steps, make.up(INNER, PARENT), make.up(ROOT, 3), (5, make.up(ROOT, 1)[1]._replace(tree=6))]


SCRIPTS: dict[str, Script] = {
    "in order, the root": _root,
    "in order, below the root": _inner,
    "in another order, sums that wrap": lambda make: [make.up(ROOT, port, most=True) for port in (3, 1, 2)],
    "each frame twice": lambda make: [step for step in _inner(make) for _ in range(2)],
    "members that lost the result": lambda make: [*_root(make), *_root(make), make.up(ROOT, 2)],
    "a contribution that was lost above": _lost_above,
    "two versions, then the first anew, then late frames": _late,
    "members without values": _without_values,
    "results that nobody waits for": _unexpected_results,
    "strangers": _strangers,
}

# Operation, values of 64 bits, leaf that gets the values.
KINDS = {
    "sum of int32": (Combining.SUM, False, EVERY_LEAF),
    "sum of int64": (Combining.SUM, True, EVERY_LEAF),
    "maximum of int32, for a leaf": (Combining.MAX, False, 1),
    "minimum of int64": (Combining.MIN, True, EVERY_LEAF),
    "sum of int32, for a leaf": (Combining.SUM, False, 7),
}


@pytest.fixture(scope="module", params=["ub", "rail"])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    files, rows = read_program(f"{request.param}_switch_reduce"), entries(ALL_TREES)
    directory = tmp_path_factory.mktemp("bmv2")
    with Differential(files, rows, ports=PORTS, directory=directory) as both:
        yield Pair(both)


@pytest.mark.parametrize(("script", "kind"), list(product(SCRIPTS, KINDS)))
def test_scripted_exchanges(pair: Pair, script: str, kind: str) -> None:
    make = Maker(pair.block, *KINDS[kind], seed=pair.block)
    pair.block += 16
    truth, engine, bmv2 = pair.exchange(SCRIPTS[script](make))
    assert engine == truth
    assert bmv2 == truth


@pytest.mark.parametrize("seed", range(2))
def test_random_frames(pair: Pair, seed: int) -> None:
    random = Random(seed)
    newest = dict.fromkeys(TREES, pair.block)
    steps = [drawn(random, random.choice(list(TREES)), newest) for _ in range(150)]
    pair.block = max(newest.values()) + 16
    truth, engine, bmv2 = pair.exchange(steps)
    assert engine == truth
    assert bmv2 == truth


def test_counters_agree(pair: Pair) -> None:
    """Drops of all frames before, by their reasons, and frames by port and VL."""
    assert pair.pair.counter_differences() == []
