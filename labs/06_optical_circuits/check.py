# SPDX-License-Identifier: Apache-2.0
"""Checks of lab 6: a change of circuits, drawn anew, carried out on a fabric whose Pods send all the time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, final

from controller.circuits.transition import keep_common_circuits
from controller.plan.diff import diff
from controller.plan.plan import Plan
from controller.planner import make_plan
from emulation.embedded.testbed import EmbeddedTestbed
from harness.lessons.attempt import Attempt, StudentError, Verdict, failed, passed
from harness.lessons.numbered_frames import Frames
from harness.run.boot import Booted, booted
from topologies import Fabric
from topologies.families.lumos.core import crossconnects, with_maps
from topologies.families.lumos.fabric import lumos
from topologies.model.circuits import circuit_of

ANSWER, FUNCTION = "planner.py", "plan"
PODS, PAIRS, PROBLEMS = 5, 3, 6
DARK = -1
# Between two frames from a Pod to another Pod; and the time that Pods send before and after the change.
EVERY_PS, BEFORE_PS, AFTER_PS = 250_000, 3_000_000, 8_000_000
# Frames that tell which circuits between two Pods carry any.
BURST = 96
# Tables that say by which ports frames may come and go, and choose no route.
TURNS = ("arrival", "departure", "vl_turn")
# Time that a change may take beyond draining and the turn of the mirrors.
SPARE_US = 6.0
MOST_US = 200.0

Maps = list[list[int]]
PodPair = tuple[int, int]


@final
@dataclass(frozen=True, slots=True)
class Problem:
    """A change of circuits; `standing[k][i] = j`: pair k joins Pod i's even port to Pod j's odd port."""

    standing: Maps
    demand: list[list[int]]
    budget: int
    drain_us: float
    reconfiguration_us: float

    @property
    def as_json(self) -> dict[str, Any]:
        """Argument of the student's function."""
        return {
            "pods": PODS,
            "pairs": PAIRS,
            "standing": self.standing,
            "demand": self.demand,
            "budget": self.budget,
            "drain_us": self.drain_us,
            "reconfiguration_us": self.reconfiguration_us,
        }

    @property
    def wanted(self) -> dict[PodPair, int]:
        """Demand of the pairs of Pods that have any, the lower Pod first."""
        return {(a, b): self.demand[a][b] for a in range(PODS) for b in range(a, PODS) if self.demand[a][b]}


@final
@dataclass(frozen=True, slots=True)
class Answer:
    """A student's plan: the circuits after the change, and when its three steps happen, in us."""

    circuits: Maps
    leave_us: float
    turn_us: float
    use_us: float


@final
@dataclass(frozen=True, slots=True)
class Outcome:
    """Measurements of a change.

    `carrying` counts the circuits between two Pods that carried frames afterwards, `set_up` and `torn` those
    that moved. `sent` and `lost` are frames of Pods that wanted circuits before and after the change;
    `cut_off` are two such Pods that had no circuit while the mirrors turned.
    """

    problem: Problem
    answer: Answer
    carrying: Mapping[PodPair, int]
    set_up: int
    torn: int
    sent: int
    lost: Mapping[PodPair, int]
    cut_off: PodPair | None


def serve(attempt: Attempt) -> Verdict:
    """Every pair of Pods has the circuits that it wants, and they carry frames."""
    expected = f"{PROBLEMS} drawn demands, each pair of Pods with its circuits, all of which carry frames"
    outcomes = _outcomes(attempt)
    for number, outcome in enumerate(outcomes, 1):
        for (low, high), wanted in outcome.problem.wanted.items():
            if (has := outcome.carrying.get((low, high), 0)) < wanted:
                return failed(
                    expected,
                    f"demand {number}: {has} of {wanted} circuits between Pods {low} and {high} carry frames",
                    f"demand[{low}][{high}] beside your circuits: {_show(outcome)}",
                )
    return passed(
        expected, f"{sum(sum(outcome.carrying.values()) for outcome in outcomes)} circuits carry frames"
    )


def budget(attempt: Attempt) -> Verdict:
    """A change sets up no more circuits than its budget, and serves the demand."""
    served = serve(attempt)
    if not served.passed:
        return failed(served.expected, served.observed, "stage 1: a cheap change that serves nobody is none")
    outcomes = _outcomes(attempt)
    expected = f"{PROBLEMS} demands served within their budgets of circuits set up"
    for number, outcome in enumerate(outcomes, 1):
        if outcome.set_up > outcome.problem.budget:
            return failed(
                expected,
                f"demand {number}: {outcome.set_up} circuits set up and {outcome.torn} torn down; the budget "
                f"is {outcome.problem.budget}",
                f"circuits that stand and are still wanted need not move: {_show(outcome)}",
            )
    spent = sum(outcome.set_up for outcome in outcomes)
    return passed(expected, f"{spent} circuits set up, of {sum(o.problem.budget for o in outcomes)}")


def light(attempt: Attempt) -> Verdict:
    """No frame of a pair of Pods that keeps sending is lost, and the change ends in time."""
    within = budget(attempt)
    if not within.passed:
        return failed(within.expected, within.observed, "stages 1 and 2 come first")
    outcomes = _outcomes(attempt)
    expected = f"no frame lost in {PROBLEMS} changes, each {SPARE_US:g} µs longer than drain and turn at most"
    for number, outcome in enumerate(outcomes, 1):
        problem, answer = outcome.problem, outcome.answer
        times = f"leave {answer.leave_us:g}, turn {answer.turn_us:g}, use {answer.use_us:g} µs"
        if outcome.cut_off is not None:
            low, high = outcome.cut_off
            return failed(
                expected,
                f"change {number}: all circuits between Pods {low} and {high} move at once, and both send",
                f"keep one of them where it stands: {_show(outcome)}",
            )
        if outcome.lost:
            (low, high), count = max(outcome.lost.items(), key=lambda item: item[1])
            return failed(
                expected,
                f"change {number}: {sum(outcome.lost.values())} of {outcome.sent} frames lost, {count} of "
                f"them from Pod {low} to Pod {high}",
                f"your times ({times}) beside drain {problem.drain_us:g} and turn "
                f"{problem.reconfiguration_us:g} µs: where are frames while the light is gone?",
            )
        longest = problem.drain_us + problem.reconfiguration_us + SPARE_US
        if answer.use_us > longest:
            return failed(
                expected,
                f"change {number} ends after {answer.use_us:g} µs, at most {longest:g}",
                f"your times: {times}",
            )
    return passed(expected, f"{sum(outcome.sent for outcome in outcomes)} frames sent, none lost")


def _show(outcome: Outcome) -> str:
    return f"standing {outcome.problem.standing}, circuits {outcome.answer.circuits}"


def _outcomes(attempt: Attempt) -> list[Outcome]:
    """Return the measured changes of all drawn problems; the student's code is asked once."""

    def measure() -> list[Outcome]:
        drawn = attempt.random("problems")
        problems = [draw_problem(drawn) for _ in range(PROBLEMS)]
        answers = attempt.call_each(ANSWER, FUNCTION, [[problem.as_json] for problem in problems])
        checked = [_answer(number, value) for number, value in enumerate(answers, 1)]
        return [
            carry_out(problem, answer, attempt.random(f"frames {number}"))
            for number, (problem, answer) in enumerate(zip(problems, checked, strict=True))
        ]

    return attempt.shared("outcomes", measure)


def _answer(number: int, value: Any) -> Answer:
    """Return a student's answer; StudentError says what is wrong with its form."""

    def wrong(what: str, remedy: str) -> StudentError:
        return StudentError(f"{ANSWER}: answer {number}: {what}", remedy)

    if not isinstance(value, dict) or {"circuits", "times_us"} - set(value):
        raise wrong(f"{str(value)[:80]} has no circuits and times_us", "return a dict with both")
    maps, times = value["circuits"], value["times_us"]
    rows = isinstance(maps, list) and len(maps) == PAIRS
    if not rows or not all(isinstance(row, list) and len(row) == PODS for row in maps):
        raise wrong(f"circuits is {str(maps)[:80]}", f"return {PAIRS} lists of {PODS} Pods each")
    for pair, row in enumerate(maps):
        for pod, other in enumerate(row):
            if type(other) is not int or not DARK <= other < PODS or other == pod:
                raise wrong(
                    f"circuits[{pair}][{pod}] is {str(other)[:20]}",
                    f"name another Pod, or {DARK} for a dark port",
                )
            if other != DARK and row.index(other) != pod:
                raise wrong(
                    f"pair {pair} joins the odd port of Pod {other} twice", "join a port once at most"
                )
    steps = [times.get(name) for name in ("leave", "turn", "use")] if isinstance(times, dict) else [None]
    numbers = [float(step) for step in steps if type(step) in (int, float) and 0 <= step <= MOST_US]
    if len(numbers) < 3:
        raise wrong(f"times_us is {str(times)[:80]}", f"give leave, turn and use, 0 to {MOST_US:g} µs")
    if sorted(numbers) != numbers:
        raise wrong(f"times_us is {times}", "leave comes first, then turn, then use")
    return Answer(maps, *numbers)


def count(maps: Maps) -> Counter[PodPair]:
    """Return the circuits between two Pods, the lower Pod first."""
    return Counter((min(i, j), max(i, j)) for row in maps for i, j in enumerate(row) if j != DARK)


def draw_problem(random: Random) -> Problem:
    """Draw a change that a few moves can make, with two Pods that want a circuit and have none."""
    every = [(a, b) for a in range(PODS) for b in range(a + 1, PODS)]
    while True:
        standing = [_derangement(random) for _ in range(PAIRS)]
        before = count(standing)
        missing = [pair for pair in every if not before[pair]]
        random.shuffle(missing)
        if not missing:
            continue
        target = [list(row) for row in standing]
        for pair in missing[: random.choice((1, 2))]:
            _exchange_ends(target[random.randrange(PAIRS)], *random.sample(pair, 2))
        after = count(target)
        wanted = {
            pair: number - (number > 1 and random.random() < 0.4)
            for pair, number in after.items()
            if not before[pair] or random.random() < 0.9
        }
        stay = count(
            [
                [j if j == old else DARK for j, old in zip(row, was, strict=True)]
                for row, was in zip(target, standing, strict=True)
            ]
        )
        moves = sum(after.values()) - sum(stay.values())
        unserved = any(before[pair] and not stay[pair] for pair in wanted)
        if unserved or all(before[pair] for pair in wanted):
            continue
        demand = [[wanted.get((min(a, b), max(a, b)), 0) for b in range(PODS)] for a in range(PODS)]
        times = round(random.uniform(3, 6), 1), round(random.uniform(15, 40), 1)
        return Problem(standing, demand, moves, *times)


def _derangement(random: Random) -> list[int]:
    """Draw a permutation that leaves no Pod in its place."""
    while True:
        row = list(range(PODS))
        random.shuffle(row)
        if all(i != j for i, j in enumerate(row)):
            return row


def _exchange_ends(row: list[int], a: int, b: int) -> None:
    """Join the even port of Pod a to the odd port of Pod b; their former ends are joined to each other."""
    former, other = row[a], row.index(b) if b in row else DARK
    row[a] = b
    if other != DARK:
        row[other] = former if former != other else DARK


def carry_out(problem: Problem, answer: Answer, random: Random) -> Outcome:
    """Carry out a change on the embedded testbed, while Pods send."""
    base = lumos(
        pods=PODS,
        leaves=1,
        spines=1,
        accelerators=2,
        hb_size=2,
        ports=2 * PAIRS,
        reconfiguration_us=problem.reconfiguration_us,
    )
    before, after = (with_maps(base, [maps]) for maps in (problem.standing, answer.circuits))
    stay = keep_common_circuits(before, crossconnects(after))
    had, kept, has = (_circuits(fabric) for fabric in (before, stay, after))
    # Pods that send all the time, and Pods that send once the new circuits are in use.
    going = [pair for pair in problem.wanted if had[pair]]
    cut_off = next((pair for pair in going if not kept[pair]), None)
    served = [pair for pair in problem.wanted if has[pair]]
    leave_ps, turn_ps, use_ps = (
        BEFORE_PS + round(us * 10**6) for us in (answer.leave_us, answer.turn_us, answer.use_us)
    )
    end_ps = max(leave_ps, turn_ps + round(problem.reconfiguration_us * 10**6), use_ps) + AFTER_PS
    frames = Frames(base, [f"gpu{2 * pod}" for pod in range(PODS)], EVERY_PS, random)
    for pair in going:
        frames.stream(pair, 0, end_ps if has[pair] else use_ps)
    for pair in set(served) - set(going):
        frames.stream(pair, use_ps, end_ps)
    plans = [_plan(before, going), None if cut_off else _plan(stay, going), _plan(after, served)]
    assert plans[0] is not None
    with booted(bed := EmbeddedTestbed(before, seed=0), plans[0]) as up:
        senders = frames.attach(bed)
        tables = _Tables(up, plans[0])
        moved: list[tuple[int, int]] = []

        def turn() -> None:
            for name, joined in crossconnects(after).items():
                change = bed.circuits[name].apply(joined)
                moved.append((len(change.created), len(change.torn)))

        steps = [
            (leave_ps, lambda: tables.use(plans[1], routes_only=True)),
            (turn_ps, turn),
            (use_ps, lambda: tables.use(plans[2])),
        ]
        for time_ps, step in steps:
            bed.at(time_ps, step)
        bed.run()
        lost = frames.lost(senders)
        counted = _frames_by_circuit(bed, after)
        for pair in served:
            frames.burst(pair, bed.now_ps, BURST)
        frames.attach(bed)
        bed.run()
        carrying: Counter[PodPair] = Counter()
        for name, number in _frames_by_circuit(bed, after).items():
            carrying[_pods_of(after, name)] += number > counted[name]
    set_up, torn = (sum(numbers) for numbers in zip(*moved, strict=True))
    return Outcome(problem, answer, carrying, set_up, torn, frames.sent, lost, cut_off)


@final
class _Tables:
    """Tables of a running fabric, rewritten from plan to plan."""

    def __init__(self, up: Booted, plan: Plan) -> None:
        self._up, self._entries = up, dict(plan.entries)

    def use(self, plan: Plan | None, *, routes_only: bool = False) -> None:
        """Write the plan, or nothing without a plan; `routes_only` lets frames arrive from where they do."""
        for node, entries in (plan.entries if plan else {}).items():
            kept = [entry for entry in self._entries[node] if routes_only and entry.table in TURNS]
            wanted = (*kept, *(entry for entry in entries if not (routes_only and entry.table in TURNS)))
            if updates := diff(self._entries[node], wanted):
                self._up.client.write(node, updates)
            self._entries[node] = wanted


def _plan(fabric: Fabric, pairs: Iterable[PodPair]) -> Plan:
    """Return the plan of a fabric for the first GPUs of these Pods."""
    peers = [(f"gpu{2 * a}", f"gpu{2 * b}") for pair in pairs for a, b in (pair, pair[::-1])]
    return make_plan(fabric, strategy="shortest", peers=peers)


def _pods_of(fabric: Fabric, link: str) -> PodPair:
    a, b = (fabric.node(end.node).coordinates[-1] for end in (fabric.link(link).a, fabric.link(link).b))
    return min(a, b), max(a, b)


def _circuits(fabric: Fabric) -> Counter[PodPair]:
    """Count the circuits between two Pods, the lower Pod first."""
    names = (link.name for link in fabric.links if circuit_of(fabric, link.name))
    return Counter(_pods_of(fabric, name) for name in names)


def _frames_by_circuit(bed: EmbeddedTestbed, fabric: Fabric) -> dict[str, int]:
    """Return the frames that each circuit of a fabric has carried, in both directions."""
    usage = bed.link_usage()
    names = (link.name for link in fabric.links if circuit_of(fabric, link.name))
    return {
        name: sum(way.frames - way.lost_frames for way in usage[name]) if name in usage else 0
        for name in names
    }
