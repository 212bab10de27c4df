# SPDX-License-Identifier: Apache-2.0
"""Place new circuits among standing circuits, one by one, moving few standing circuits.

A slot is a pair of optical switches. A port is free if it is dark or holds a surplus circuit. A circuit goes
to a slot where both its ports are free. If no slot has both free, the circuit takes a slot with one free port
and displaces the circuit at the other port. The displaced circuit is then placed in the same way. These moves
form a chain; a shortest chain is used. Kempe chains, which alternate between two slots, are a special case.
"""

from collections import deque
from dataclasses import dataclass
from typing import final

import numpy as np

from controller.circuits.flow import Ints

__all__ = ["WorkingPorts", "place_circuits"]

_Candidate = tuple[Ints, Ints, np.ndarray, np.ndarray]
_Link = tuple[int, int, int]

WorkingPorts = tuple[np.ndarray, np.ndarray]
"""Usable even and odd ports, (N, slots) each."""

_MAX_CHAIN = 8  # most circuits that a chain displaces; longer chains are not searched
# Circuits are placed one by one if at most this share of the demand is new, or at most this many circuits.
_MAX_NEW_SHARE = 0.25
_MAX_NEW = 600
_MAX_DISPLACEMENTS = 400  # initial limit on circuits that need a chain, a swap or force
_ROUNDS = 4  # rounds of placing and evening out
_MAX_LEVEL = 512  # most circuits in one level of the search for a chain
_MAX_UNEVENNESS = 1.999  # most circuits between two Pods that a spine has above or below its share
_UNUSABLE = 64  # cost of a slot with a failed port; above the cost of any usable slot


def place_circuits(
    demand: Ints, maps: Ints, spines: Ints, *, either_way: bool, working: WorkingPorts | None = None
) -> tuple[Ints, bool]:
    """Return maps, (slots, N), with the circuits that a demand, (N, N), adds, and whether all were placed.

    The second result is also False if a spine's circuits between two Pods differ from the spine's share by
    two or more. Spines share the circuits in proportion to their slots.

    Args:
        demand: Circuits wanted between Pods; symmetric with `either_way`.
        maps: Standing circuits; they use working ports only.
        spines: Number of slots of each spine.
        either_way: Whether a circuit may have its even port at either Pod. Otherwise the row's Pod has it.
        working: Usable ports; by default all. If given, the spread over spines is not limited.
    """
    room = _Placement(demand, maps, spines, either_way, working)
    wanted = np.argwhere((np.triu(room.missing) if either_way else room.missing) > 0).tolist()
    new = int(np.maximum(room.missing, 0).sum())
    if new > max(demand.sum() * _MAX_NEW_SHARE, _MAX_NEW) and working is None:
        return room.maps, False
    left = deque((i, j) for i, j in wanted if room.place(i, j))
    tries = min(_MAX_DISPLACEMENTS, 4 * new)
    for _ in range(_ROUNDS):
        while left and tries:
            i, j = left.popleft()
            if room.place(i, j):
                tries -= 1
                if not (room.place_by_chain(i, j) or room.place_by_swap(i, j)):
                    room.place_by_force(i, j)
                left += [pair for pair in room.take_displaced() if pair not in left]
        room.drop_surplus()
        if left:
            break
        if len(spines) > 1 and working is None:
            room.even_out()
            left += room.take_displaced()
        if not left:
            return room.maps, True
        tries += 4 * len(left)
    for i, j in left:
        room.place(i, j)
    return room.maps, False


@final
@dataclass(frozen=True, slots=True)
class _Level:
    """Circuits that need a new slot, at one level of the breadth-first search for a chain of moves.

    Level 0 is the new circuit. Circuit e of a later level joins Pods `row[e]` and `col[e]`. It stands in
    `slot[e]`, where its `parent[e]`, a circuit of the previous level, displaces it. The parent uses the even
    port of Pod `a[e]` and the odd port of Pod `b[e]` there. The displaced circuit frees its other port in
    that slot, at Pod `left_pod[e]`; `left_side[e]` is 0 for an even port and 1 for an odd port. `given_slot`,
    `given_pod` and `given_side` name the port that the parent itself frees. -1 means none.
    """

    row: Ints
    col: Ints
    slot: Ints
    left_pod: Ints
    left_side: Ints
    given_slot: Ints
    given_pod: Ints
    given_side: Ints
    parent: Ints
    a: Ints
    b: Ints

    @classmethod
    def new(cls, i: int, j: int) -> "_Level":
        none = np.array([-1])
        return cls(np.array([i]), np.array([j]), *(none,) * 9)


@final
class _Placement:
    """Slots and their circuits; `missing[i, j]` is demand minus placed circuits, negative for a surplus."""

    def __init__(
        self, demand: Ints, maps: Ints, spines: Ints, either_way: bool, working: WorkingPorts | None
    ) -> None:
        slots, n = maps.shape
        slot, row = np.nonzero(maps >= 0)
        wanted = demand[row, maps[slot, row]] > 0
        slot, row = slot[wanted], row[wanted]
        col = maps[slot, row]
        self.maps, self._row_of = np.full((slots, n), -1), np.full((slots, n), -1)
        self.maps[slot, row], self._row_of[slot, col] = col, row
        has = np.bincount(row * n + col, minlength=n * n).reshape(n, n)
        self.missing = demand - has - has.T if either_way else demand - has
        self._either_way = either_way
        self._first, self._spine_of = np.cumsum(spines) - spines, np.repeat(np.arange(len(spines)), spines)
        # Free even and odd ports, by Pod and slot; a failed port is never free.
        self._working = working
        all_of = np.ones((n, slots), bool)
        self._even_free, self._odd_free = (usable.copy() for usable in working or (all_of, all_of))
        held = self.missing[row, col] >= 0
        self._even_free[row[held], slot[held]] = False
        self._odd_free[col[held], slot[held]] = False
        self._displaced: set[tuple[int, int]] = set()
        self._rng = np.random.default_rng(0)
        self._demand, self._share, self._allow_extra = demand, spines / slots, False

    def place(self, i: int, j: int) -> int:
        """Place missing circuits from i to j where both ports are free; return how many are still missing."""
        row, col = np.array([i]), np.array([j])
        for missing in range(int(self.missing[i, j]), 0, -1):
            has, allowed = self._spread(row, col)
            there, back = self._even_free[i] & self._odd_free[j], self._even_free[j] & self._odd_free[i]
            fit = (there | back if self._either_way else there) & allowed[0]
            free_slots = np.flatnonzero(fit)
            if not len(free_slots):
                return missing
            slot = int(free_slots[has[0, free_slots].argmin()])
            self._put_circuit(slot, *((i, j) if there[slot] else (j, i)))
        return 0

    def place_by_chain(self, i: int, j: int, spine: int | None = None) -> bool:
        """Place one circuit from i to j by a short chain of moves; False if no chain is short enough.

        If `spine` is given, the circuit takes a slot of that spine.
        """
        for self._allow_extra in (False, True):
            if chain := self._chain(i, j, spine):
                break
        self._allow_extra = False
        for slot, a, b in chain:
            if self.missing[a, b] > 0:
                self._put_circuit(slot, a, b)
        self._displaced.add((i, j))
        return bool(chain)

    def place_by_swap(self, i: int, j: int) -> bool:
        """Place one circuit from i to j by a swap along the shortest path between two slots of one spine.

        False unless one Pod has a free even port in that spine and the other Pod a free odd port.
        """
        best: list[_Link] | None = None
        where = (0, 0, 0, 0)
        for a, b in self._orientations(i, j):
            slots, others = np.flatnonzero(self._even_free[a]), np.flatnonzero(self._odd_free[b])
            same = self._spine_of[slots][:, None] == self._spine_of[others]
            for index, two in np.argwhere(same).tolist():
                slot, other = int(slots[index]), int(others[two])
                path = self._swap_path(slot, other, b, len(best) if best else len(self._even_free) * 2)
                if path is not None and (best is None or len(path) < len(best)):
                    best, where = path, (slot, other, a, b)
        if best is None:
            return False
        slot, other, a, b = where
        for at, row, col in best:
            self._remove_circuit(at, row, col)
        for at, row, col in best:
            self._put_circuit(slot + other - at, row, col)
        self._put_circuit(slot, a, b)
        return True

    def _swap_path(self, slot: int, other: int, col: int, longest: int) -> list[_Link] | None:
        """Return the circuits to exchange between two slots to free the odd port of Pod `col` in `slot`.

        None if the chain of circuits ends at a port out of order, or is longer than `longest`.
        """
        path: list[_Link] = []
        while not self._odd_free[col, slot]:
            row = int(self._row_of[slot, col])
            if row < 0:
                return None  # the odd port is not free but has no circuit: it does not work
            path.append((slot, row, col))
            if self._even_free[row, other]:
                break
            col = int(self.maps[other, row])
            path.append((other, row, col))
            if col < 0 or len(path) > longest:
                return None
        return path

    def place_by_force(self, i: int, j: int, spine: int | None = None) -> None:
        """Place one circuit from i to j in a random slot among the slots where it displaces fewest circuits.

        If `spine` is given, slots of that spine are preferred. The circuit stays unplaced if no slot has
        both of its ports working.
        """
        self._allow_extra = True
        ways = self._candidate_slots(_Level.new(i, j))
        self._allow_extra = False
        taken = np.array([2 - even[0].astype(int) - odd[0] for _, _, even, odd in ways])
        taken[:, (self._spine_of != spine) & (spine is not None)] += 4
        if self._working is not None:
            taken += [~(self._working[0][a[0]] & self._working[1][b[0]]) * _UNUSABLE for a, b, _, _ in ways]
        way, slot = np.unravel_index((taken + self._rng.random(taken.shape)).argmin(), taken.shape)
        a, b, _, _ = ways[int(way)]
        if taken[way, slot] >= _UNUSABLE:
            return
        self._put_circuit(int(slot), int(a[0]), int(b[0]))

    def take_displaced(self) -> list[tuple[int, int]]:
        """Return the pairs of Pods that have lost circuits since the last call and still miss some."""
        pairs, self._displaced = self._displaced, set()
        return [pair for pair in sorted(pairs) if self.missing[pair] > 0]

    def _orientations(self, i: int, j: int) -> list[tuple[int, int]]:
        return [(i, j), (j, i)] if self._either_way else [(i, j)]

    def drop_surplus(self) -> None:
        """Drop surplus circuits, from the fullest spines first."""
        over = self.missing < 0
        for i, j in np.argwhere(np.triu(over) if self._either_way else over).tolist():
            while self.missing[i, j] < 0:
                has, _ = self._spread(np.array([i]), np.array([j]))
                self._remove_from_spine(i, j, int(self._spine_of[has[0].argmax()]))

    def even_out(self) -> None:
        """Move circuits between two Pods from spines above their share to spines below, displacing others."""
        slot, row = np.nonzero(self.maps >= 0)
        col = self.maps[slot, row]
        low, high = np.nonzero(np.triu(self._demand) if self._either_way else self._demand)
        n, spines = len(self._even_free), len(self._share)
        if self._either_way:
            row, col = np.minimum(row, col), np.maximum(row, col)
        at = np.searchsorted(low * n + high, row * n + col)
        has = np.bincount(at * spines + self._spine_of[slot], minlength=len(low) * spines).reshape(-1, spines)
        over = has - self._demand[low, high][:, None] * self._share
        for index in np.flatnonzero((np.abs(over) > _MAX_UNEVENNESS).any(axis=1)).tolist():
            i, j = int(low[index]), int(high[index])
            while over[index].min() < -_MAX_UNEVENNESS or over[index].max() > _MAX_UNEVENNESS:
                full, short = int(over[index].argmax()), int(over[index].argmin())
                self._remove_from_spine(i, j, full)
                if not self.place_by_chain(i, j, spine=short):
                    self.place_by_force(i, j, spine=short)
                over[index, [full, short]] += (-1, 1)

    def _remove_from_spine(self, i: int, j: int, spine: int) -> None:
        mine, theirs = self.maps[:, i] == j, (self.maps[:, j] == i) & self._either_way
        slot = int(((mine | theirs) & (self._spine_of == spine)).argmax())
        self._remove_circuit(slot, *((i, j) if mine[slot] else (j, i)))

    def _spread(self, row: Ints, col: Ints, own: Ints | None = None) -> tuple[Ints, np.ndarray]:
        """Count circuits from row to col in the spine of each slot, and mark spines with room for another.

        Both results have shape (circuits, slots). `own[e]` is the present slot of circuit e; the count leaves
        this circuit out.
        """
        there = self.maps[:, row] == col
        if self._either_way:
            there |= self.maps[:, col] == row
        has = np.add.reduceat(there, self._first, axis=0, dtype=np.int64)
        if own is not None:
            has[self._spine_of[own], np.arange(len(own))] -= 1
        allowed = has <= self._demand[row, col] * self._share[:, None] + self._allow_extra * (
            _MAX_UNEVENNESS - 1
        )
        if len(has) == 1 or self._working is not None:
            allowed[:] = True
        return has[self._spine_of].T, allowed[self._spine_of].T

    def _chain(self, i: int, j: int, spine: int | None) -> list[tuple[int, int, int]]:
        """Return a chain of moves to add a circuit between Pods i and j and to move displaced circuits.

        A move is (slot, Pod of the even end, Pod of the odd end). The new circuit comes first, then each
        circuit that the previous move displaces. The result is empty if no such chain was found.

        Args:
            i: first Pod of the new circuit.
            j: second Pod of the new circuit.
            spine: spine of the new circuit; None for any spine.
        """
        n = len(self._even_free)
        levels: list[_Level] = []
        level = _Level.new(i, j)
        seen = np.zeros((len(self.maps), n), bool)
        for _ in range(_MAX_CHAIN + 1):
            ways = self._candidate_slots(level)
            if spine is not None and not levels:
                for _, _, even, odd in ways:
                    even[:, self._spine_of != spine] = odd[:, self._spine_of != spine] = False
            for a, b, even, odd in ways:
                if (fit := np.flatnonzero((even & odd).ravel())).size:
                    index, slot = divmod(int(fit[0]), len(self.maps))
                    chain = [(slot, int(a[index]), int(b[index]))]
                    for above in reversed(levels):
                        chain.append((int(level.slot[index]), int(level.a[index]), int(level.b[index])))
                        index, level = int(level.parent[index]), above
                    return chain[::-1]
            levels.append(level)
            level = self._next_level(level, ways, seen)
            if not len(level.row):
                break
        return []

    def _candidate_slots(self, level: "_Level") -> list[_Candidate]:
        """Return, for each orientation of the circuits, the Pods of their ends and masks of usable slots.

        The first Pod has the even port, the second the odd port; masks mark slots with that port free. Masks
        exclude slots whose spine may not get another circuit between the two Pods.
        """
        row, col = level.row, level.col
        _, allowed = self._spread(row, col, level.slot if level.slot[0] >= 0 else None)
        candidates = []
        for a, b in [(row, col), (col, row)] if self._either_way else [(row, col)]:
            even, odd = self._even_free[a], self._odd_free[b]
            for ports, pod, side in ((even, a, 0), (odd, b, 1)):
                mine = np.flatnonzero((level.given_pod == pod) & (level.given_side == side))
                ports[mine, level.given_slot[mine]] = True
            candidates.append((a, b, even & allowed, odd & allowed))
        return candidates

    def _next_level(self, level: "_Level", ways: list[_Candidate], seen: np.ndarray) -> "_Level":
        """Return the circuits that the circuits of `level` can displace, each once.

        Circuits marked in `seen` are left out; the returned circuits are then marked too.
        """
        parts = []
        for a, b, even, odd in ways:
            index, slot = np.nonzero(even ^ odd)
            a, b = a[index], b[index]
            at_odd = even[index, slot]
            row, col = np.where(at_odd, self._row_of[slot, b], a), np.where(at_odd, b, self.maps[slot, a])
            parts.append((index, slot, a, b, row, col, at_odd))
        index, slot, a, b, row, col, at_odd = (np.concatenate(part) for part in zip(*parts, strict=True))
        some = np.flatnonzero((row >= 0) & (col >= 0))
        some = some[~seen[slot[some], row[some]]]
        _, once = np.unique(slot[some] * len(self._even_free) + row[some], return_index=True)
        some = some[np.sort(once)][:_MAX_LEVEL]
        index, slot, a, b, row, col, at_odd = (part[some] for part in (index, slot, a, b, row, col, at_odd))
        seen[slot, row] = True
        pod, side = np.where(at_odd, row, col), np.where(at_odd, 0, 1)
        given = level.slot[index], level.left_pod[index], level.left_side[index]
        return _Level(row, col, slot, pod, side, *given, index, a, b)

    def _remove_circuit(self, slot: int, row: int, col: int) -> None:
        self._displaced.add((min(row, col), max(row, col)) if self._either_way else (row, col))
        self.maps[slot, row] = self._row_of[slot, col] = -1
        self._even_free[row, slot] = self._odd_free[col, slot] = True
        self._adjust_missing(row, col, 1)
        if self.missing[row, col] == 0:  # no surplus is left, so ports of the remaining circuits are not free
            for a, b in ((row, col), (col, row)) if self._either_way else ((row, col),):
                stay = np.flatnonzero(self.maps[:, a] == b)
                self._even_free[a, stay] = self._odd_free[b, stay] = False

    def _put_circuit(self, slot: int, row: int, col: int) -> None:
        """Put a circuit into a slot in place of the circuits at its ports."""
        if (standing := int(self.maps[slot, row])) >= 0:
            self._remove_circuit(slot, row, standing)
        if (standing := int(self._row_of[slot, col])) >= 0:
            self._remove_circuit(slot, standing, col)
        self.maps[slot, row], self._row_of[slot, col] = col, row
        self._even_free[row, slot] = self._odd_free[col, slot] = False
        self._adjust_missing(row, col, -1)

    def _adjust_missing(self, row: int, col: int, by: int) -> None:
        self.missing[row, col] += by
        if self._either_way:
            self.missing[col, row] += by
