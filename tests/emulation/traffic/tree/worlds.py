# SPDX-License-Identifier: Apache-2.0
"""Members and switches of random trees, joined by a network that loses, repeats and reorders frames."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, final

import numpy as np

from emulation.traffic.collectives.declaration import Request
from emulation.traffic.collectives.in_switches import switch_tree
from emulation.traffic.frames.values import Combining
from emulation.traffic.host.participant import Output
from emulation.traffic.schedule.data import Array
from emulation.traffic.schedule.goals import Goal
from emulation.traffic.tree.member import TreeMember, make_members
from emulation.traffic.tree.numbers import sum_errors
from emulation.traffic.tree.spec import MemberParameters, MemberSpec, TreePort
from emulation.traffic.tree.wire import read_frame, write_frame
from emulation.traffic.tree.work import Block, work_of
from tests.oracle import tree_member
from tests.oracle.slot_machine import Neighbour, SlotMachine, TreeAt

KINDS = ("allreduce", "reduce", "broadcast", "reduce-scatter", "all-gather")
US = 10**6
PORTS = 256  # that a source route can name
PARAMETERS = MemberParameters(initial_rto_ps=100 * US, min_rto_ps=20 * US, max_retries=40)


@final
class Twins:
    """An agent in C++ and one of the oracle, which see the same events; AssertionError if they differ."""

    def __init__(self, native: TreeMember, oracle: tree_member.TreeMember) -> None:
        self._native, self._oracle = native, oracle
        self._lost: list[int] = []
        self._reported: list[int] = []
        native.on_lost = self._lost.append
        oracle.on_lost = self._reported.append

    def _both(self, event: Callable[[Any], Output]) -> Output:
        answer = event(self._native)
        assert answer == event(self._oracle)
        return answer

    def take_lost(self) -> list[int]:
        """Return the trees that both agents have reported as lost since the last call."""
        lost = self._lost[:]
        assert lost == self._reported
        self._lost.clear()
        self._reported.clear()
        return lost

    def start(self, now: int) -> Output:
        return self._both(lambda agent: agent.start(now))

    def on_frame(self, frame: bytes, now: int) -> Output:
        return self._both(lambda agent: agent.on_frame(frame, now))

    def on_timer(self, now: int) -> Output:
        return self._both(lambda agent: agent.on_timer(now))

    def move(self, number: int, port: TreePort, blocks: Sequence[Block], now: int) -> Output:
        return self._both(lambda agent: agent.move(number, port, blocks, now))

    def lacking(self, number: int) -> list[Block]:
        lacking = self._native.lacking(number)
        assert lacking == self._oracle.lacking(number)
        return lacking

    def __getattr__(self, name: str) -> Any:
        """Return a value that both agents have."""
        value = getattr(self._native, name)
        assert np.array_equal(value, getattr(self._oracle, name), equal_nan=name == "result"), name
        return value


@final
class World:
    """A collective of random kind, size and trees; `loss` and `repeat` are probabilities of a hop.

    Members are agents in C++, each beside one of the oracle, which gets the same frames and deadlines. Their
    answers must be equal.
    """

    def __init__(
        self, seed: int, *, loss: float = 0.0, repeat: float = 0.0, window: int | None = None
    ) -> None:
        self.random = random = Random(seed)
        self.loss, self.repeat = loss, repeat
        count = random.randint(2, 9)
        kind = random.choice(KINDS)
        dtype = random.choice((np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.float32)))
        elements = max(random.choice((1, 63, 64, 65, 700, 1500)), count)
        request = Request((count,), elements, root=random.randrange(count))
        (self.goal,) = switch_tree(kind).build(request).goals
        self.operation = random.choice(list(Combining))
        self.inputs = [_drawn(seed + rank, elements, dtype) for rank in range(count)]
        trees = random.randint(1, 2)
        self.machines: dict[tuple[int, int], SlotMachine] = {}
        self.wires: dict[tuple[object, int], tuple[object, int]] = {}
        slots = window or random.choice((1, 2, 4, 16))
        self.slots, self.dead = slots, set[object]()
        self.moves = 0
        laid = [self._lay(tree, count) for tree in range(trees)]
        ports = [[tree[rank] for tree in laid] for rank in range(count)]
        self.work = work = work_of(self.goal, trees, operation=self.operation, dtype=dtype.name)
        self.carried: dict[int, Sequence[Block]] = dict(enumerate(work.by_tree))
        specs = [
            MemberSpec(rank, 0x100 + rank, data, work, tuple(ports[rank]), PARAMETERS)
            for rank, data in enumerate(self.inputs)
        ]
        self.members = [
            Twins(agent, tree_member.TreeMember(spec))
            for agent, spec in zip(make_members(specs), specs, strict=True)
        ]
        self.replaces = True
        self.now = 0
        self.under_way: list[tuple[Any, int, bytes]] = []
        self.deadlines: dict[int, int | None] = {}

    def _lay(self, tree: int, count: int) -> list[TreePort]:
        """Draw a tree of switches (tree, number) over all members, and return their ports.

        Leaves are numbered from the left.
        """
        level: list[Any] = list(range(count))
        self.random.shuffle(level)
        leaves = {rank: leaf for leaf, rank in enumerate(level)}
        spans = {rank: (leaf, leaf) for rank, leaf in leaves.items()}
        numbers = {rank: 0x100 + rank for rank in leaves}
        switches = 0
        pending: dict[Any, dict[int, Any]] = {}
        while True:
            above: list[Any] = []
            while level:
                size = self.random.randint(1, 4) if len(level) < count or count > 4 else len(level)
                taken, level = level[:size], level[size:]
                switch = (tree, switches)
                switches += 1
                pending[switch] = dict(enumerate(taken, 1))
                spans[switch] = (spans[taken[0]][0], spans[taken[-1]][1])
                numbers[switch] = 0x1000 + 64 * tree + switches
                above.append(switch)
            level = above
            if len(level) == 1:
                break
        parents = {
            child: (switch, port) for switch, below in pending.items() for port, child in below.items()
        }
        for switch, below in pending.items():
            children = {port: Neighbour(numbers[child], 0, *spans[child]) for port, child in below.items()}
            up = parents.get(switch)
            self.machines[switch] = SlotMachine(
                {
                    tree: TreeAt(
                        numbers[switch],
                        5,
                        2 * self.slots,
                        children,
                        None if up is None else 0,
                        None if up is None else Neighbour(numbers[up[0]]),
                    )
                }
            )
            if up is not None:
                self.wires[switch, 0] = up
            for port, child in below.items():
                self.wires[switch, port] = (child, tree % PORTS if isinstance(child, int) else 0)
                if isinstance(child, int):
                    self.wires[child, tree % PORTS] = (switch, port)
        row = tuple(leaves[rank] for rank in range(count))
        return [
            TreePort(tree, tree % PORTS, numbers[self.wires[rank, tree % PORTS][0]], row, self.slots)
            for rank in range(count)
        ]

    def _replace(self, number: int) -> None:
        """Move all members to another tree, as the controller does."""
        if number not in self.carried:
            return
        blocks = self.carried.pop(number)
        wanted = {block for member in self.members for block in member.lacking(number)}
        left = [block for block in blocks if block in wanted]
        self.moves += 1
        new = max(max(self.carried, default=0), number, self.moves) + 1
        self.carried[new] = tuple(left)
        for rank, port in enumerate(self._lay(new, len(self.members))):
            self._answer(rank, self.members[rank].move(number, port, left, self.now))

    def run(self, steps: int = 400_000, restarts: int = 0, deaths: int = 0) -> bool:
        """Let frames and deadlines happen in random order; return whether all members are done."""
        for rank, member in enumerate(self.members):
            self._answer(rank, member.start(self.now))
        for _ in range(steps):
            if restarts and self.random.random() < 0.002:
                restarts -= 1
                self.machines[self.random.choice(list(self.machines))].cells.clear()
            if deaths and self.random.random() < 0.002:
                deaths -= 1
                self.dead.add(self.random.choice(list(self.machines)))
            for number in [number for member in self.members for number in member.take_lost()]:
                if self.replaces:
                    self._replace(number)
            due = min(((at, rank) for rank, at in self.deadlines.items() if at is not None), default=None)
            if self.under_way and (due is None or due[0] > self.now):
                self._deliver()
            elif due is not None:
                self.now = max(self.now, due[0])
                self._answer(due[1], self.members[due[1]].on_timer(self.now))
            else:
                break
        return all(member.done for member in self.members)

    def _deliver(self) -> None:
        at = self.random.randrange(len(self.under_way))
        place, port, frame = self.under_way[at]
        if self.random.random() >= self.repeat:
            self.under_way[at] = self.under_way[-1]
            self.under_way.pop()
        self.now += self.random.randint(1, US // 10)
        if self.random.random() < self.loss or place in self.dead:
            return
        if isinstance(place, int):
            self._answer(place, self.members[place].on_frame(frame, self.now))
            return
        fields = read_frame(frame)
        assert not isinstance(fields, str), fields
        answers = self.machines[place].on_frame(port, fields)
        if not isinstance(answers, str):
            for leaving, answer in answers.items():
                self.under_way.append((*self.wires[place, leaving], write_frame(answer)))

    def _answer(self, rank: int, answer: tuple[list[tuple[bytes, int]], int | None]) -> None:
        frames, self.deadlines[rank] = answer
        for frame, _ in frames:
            fields = read_frame(frame)
            assert not isinstance(fields, str)
            assert fields.route is not None
            self.under_way.append((*self.wires[rank, fields.route], frame))

    def wrong(self) -> list[int]:
        """Return the ranks that are done and have another result than arithmetic."""
        right = after(self.goal, self.inputs, self.operation)
        errors = sum_errors(self.work, self.inputs)
        allowed = np.zeros(right[0].size) if errors is None else errors
        eps = np.finfo(np.float32).eps * self.work.scaled
        return [
            rank
            for rank, member in enumerate(self.members)
            if member.done
            and not (np.abs(member.result - right[rank]) <= allowed + eps * np.abs(right[rank])).all()
        ]


def _drawn(seed: int, elements: int, dtype: np.dtype[np.generic]) -> Array:
    """Return random elements: the whole range of integers, floats of many magnitudes."""
    draw = np.random.default_rng(seed)
    if dtype == np.float32:
        exponents = np.repeat(draw.integers(-30, 30, elements // 32 + 1), 32)[:elements]
        return np.ldexp(draw.standard_normal(elements), exponents).astype(np.float32)
    limits = np.iinfo(dtype.name)
    return draw.integers(limits.min, limits.max, elements, dtype.name, endpoint=True)


def after(goal: Goal, inputs: Sequence[Array], operation: Combining) -> list[Array]:
    """Return the array of each rank after a collective; elements that the goal leaves undefined stay."""
    combine = {Combining.SUM: np.add, Combining.MAX: np.maximum, Combining.MIN: np.minimum}[operation]
    results = [data.copy() for data in inputs]
    for holds in goal.holds():
        where = slice(holds.offset, holds.offset + holds.length)
        if holds.sources:
            with np.errstate(over="ignore"):
                terms = np.stack([inputs[rank][where] for rank, _ in holds.sources])
                exact = terms.astype(np.float64) if terms.dtype == np.float32 else terms
                value = combine.reduce(exact, axis=0).astype(terms.dtype)
            for rank in holds.ranks:
                results[rank][where] = value
    return results
