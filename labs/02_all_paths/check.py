# SPDX-License-Identifier: Apache-2.0
"""Check of lab 2: the student's paths and shares steer frames through a drawn mesh; times are measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import inf, isfinite
from typing import Any

import networkx as nx
import numpy as np
from scipy.optimize import linprog

from controller.plan.entry import hops_of
from controller.schemes.registry import rule_set
from controller.tables.turns import turn_entries
from emulation.embedded.testbed import EmbeddedTestbed
from emulation.testbed import Impairment
from emulation.traffic.host.saturate import steered_frame
from harness.lessons.attempt import Attempt, StudentError, Verdict, failed, passed
from harness.lessons.scripted_host import ScriptedHost
from harness.run.boot import filled, programs_of
from topologies import HOST_PORT, Fabric, full_mesh

MESHES = ((6,), (4, 3), (3, 4), (4, 4))
RATES_GBPS = (50, 100, 200, 400)
FRAME_BYTES = 1024
MAX_HOPS = 3

# Allowed times, in parts of the least time that any shares reach.
ONE_TRANSFER, SEVERAL = 1.1, 1.25

# A draw is good if simple shares take at least so many times the least time.
MARGIN = 1.5

Transfer = tuple[str, str, int]
Path = tuple[str, ...]


@dataclass(frozen=True)
class Mesh:
    """A drawn mesh: `rates` in Gbit/s by link name; links without a rate are down."""

    fabric: Fabric
    rates: dict[str, int]

    @property
    def links(self) -> list[list[Any]]:
        """Links that are up, as the student's functions get them."""
        ends = ((link, self.rates.get(link.name)) for link in self.fabric.links)
        return [[link.a.node, link.b.node, rate] for link, rate in ends if rate]

    @cached_property
    def hop_rates(self) -> dict[tuple[Any, ...], int]:
        """Rate in Gbit/s of each hop over a link that is up."""
        return {hop: rate for a, b, rate in self.links for hop in ((a, b), (b, a))}


@dataclass(frozen=True)
class Run:
    """Measurement of transfers: frames sent and arrived, time of the last, and the busiest direction."""

    sent: int
    arrived: int
    time_us: float
    busiest: str
    busy_us: float


def paths(attempt: Attempt) -> Verdict:
    """Compare the student's sets of paths of several pairs with those of a search of our own."""
    draw = attempt.random("paths")
    mesh = _drawn(draw)
    pairs = [draw.sample([node.name for node in mesh.fabric.nodes], 2) for _ in range(12)]
    # Wrong paths of a node twice have three hops, so some pairs always have as many.
    hops = [1 + number % MAX_HOPS for number in range(len(pairs))]
    expected = (
        f"all simple paths of up to so many hops of {len(pairs)} pairs of {mesh.fabric.name}, each once"
    )
    answers = attempt.call_each(
        "routing.py", "paths", [[mesh.links, *pair, most] for pair, most in zip(pairs, hops, strict=True)]
    )
    graph = nx.Graph([link[:2] for link in mesh.links])
    total = 0
    for (source, target), most, answer in zip(pairs, hops, answers, strict=True):
        right = {tuple(path) for path in nx.all_simple_paths(graph, source, target, cutoff=most)}
        total += len(right)
        given = _as_paths(answer)
        where = f"{source} to {target} in up to {most} hops"
        if len(set(given)) < len(given):
            return failed(expected, f"{where}: a path comes twice", "routing.py, paths")
        if missing := right - set(given):
            observed = (
                f"{where}: {len(missing)} of {len(right)} paths are missing, such as {_named(min(missing))}"
            )
            return failed(expected, observed, "routing.py, paths")
        if wrong := set(given) - right:
            return failed(expected, f"{where}: {_named(min(wrong))} is no such path", "routing.py, paths")
    return passed(expected, f"{total} paths, all right")


def one_transfer(attempt: Attempt) -> Verdict:
    """Measure a transfer over paths of up to two hops, of which no two share a link."""
    draw = attempt.random("one transfer")
    while True:
        mesh = _drawn(draw)
        source, target, _ = draw.choice(mesh.links)
        transfers = [(source, target, FRAME_BYTES * 1600)]
        bound = _least_us(mesh, transfers, 2)
        if min(_simple_us(mesh, transfers, 2)[:3]) >= MARGIN * bound:
            return _timed(attempt, mesh, transfers, 2, ONE_TRANSFER * bound)


def several(attempt: Attempt) -> Verdict:
    """Measure transfers that begin together and want the same links, over paths of up to three hops."""
    draw = attempt.random("several")
    while True:
        mesh = _drawn(draw)
        # Transfers from few sources to few destinations meet; each has its own size.
        names = draw.sample([node.name for node in mesh.fabric.nodes], 5)
        ends = [(names[0], names[1]), (names[2], names[1]), (names[0], names[3]), (names[2], names[4])]
        transfers = [(*pair, FRAME_BYTES * draw.randrange(400, 1200)) for pair in ends]
        bound = _least_us(mesh, transfers, MAX_HOPS)
        if min(_simple_us(mesh, transfers, MAX_HOPS)) >= MARGIN * bound:
            return _timed(attempt, mesh, transfers, MAX_HOPS, SEVERAL * bound)


def _timed(
    attempt: Attempt, mesh: Mesh, transfers: list[Transfer], max_hops: int, allowed_us: float
) -> Verdict:
    count = f"{len(transfers)} transfers" if len(transfers) > 1 else "a transfer"
    expected = f"{count} on {mesh.fabric.name} in {allowed_us:.2f} µs; the best shares take less"
    answer = attempt.call("routing.py", "shares", mesh.links, transfers, max_hops)
    run = _run(mesh, transfers, _as_shares(answer, mesh, transfers, max_hops))
    observed = f"{run.arrived} of {run.sent} frames arrived, the last at {run.time_us:.2f} µs"
    if run.arrived == run.sent and run.time_us <= allowed_us:
        return passed(expected, observed)
    observed += f"; by its counters {run.busiest} was busiest, for {run.busy_us:.2f} µs"
    return failed(expected, observed, "routing.py, shares: the paths over that link")


def _drawn(draw: Any) -> Mesh:
    """Draw a mesh with links of several rates, of which two are down."""
    fabric = full_mesh(draw.choice(MESHES))
    names = [link.name for link in fabric.links]
    down = draw.sample(names, 2)
    return Mesh(fabric, {name: draw.choice(RATES_GBPS) for name in names if name not in down})


def _simple_us(mesh: Mesh, transfers: list[Transfer], max_hops: int) -> list[float]:
    """Return the times of simple shares: shortest, all alike, by first or slowest link of a path."""
    graph = nx.Graph([link[:2] for link in mesh.links])
    busy: list[dict[tuple[str, ...], float]] = [{}, {}, {}, {}]
    for source, target, size in transfers:
        ways = list(nx.all_simple_paths(graph, source, target, cutoff=max_hops))
        if not ways:
            return [0.0] * 4
        slowest = [min(mesh.hop_rates[hop] for hop in pairwise(way)) for way in ways]
        first = [mesh.hop_rates[way[0], way[1]] for way in ways]
        shortest = min(range(len(ways)), key=lambda number: len(ways[number]))
        for number, way in enumerate(ways):
            by_first = first[number] / sum(first)
            kinds = (float(number == shortest), 1 / len(ways), by_first, slowest[number] / sum(slowest))
            for times, share in zip(busy, kinds, strict=True):
                for hop in pairwise(way):
                    times[hop] = times.get(hop, 0.0) + share * size * 8 / mesh.hop_rates[hop] / 1e3
    return [max(times.values()) for times in busy]


def _least_us(mesh: Mesh, transfers: list[Transfer], max_hops: int) -> float:
    """Return the least time in which the links can carry the transfers over such paths."""
    graph = nx.Graph([link[:2] for link in mesh.links])
    owners, ways = [], []
    for number, (source, target, _) in enumerate(transfers):
        for path in nx.all_simple_paths(graph, source, target, cutoff=max_hops):
            owners.append(number)
            ways.append(set(pairwise(path)))
    hops = sorted(set().union(*ways))
    # Bytes in thousands of bits and rates in kbit/us, so that the last variable is microseconds.
    busy = [[float(hop in way) for way in ways] + [-1000.0 * mesh.hop_rates[hop]] for hop in hops]
    whole = [[float(owner == number) for owner in owners] + [0.0] for number in range(len(transfers))]
    goal = np.array([0.0] * len(ways) + [1.0])
    solved = linprog(goal, busy, [0.0] * len(hops), whole, [8.0 * size for _, _, size in transfers])
    return float(solved.fun)


def _run(mesh: Mesh, transfers: list[Transfer], shares: list[list[tuple[Path, float]]]) -> Run:
    """Send the frames of all transfers over the chosen paths, and measure."""
    fabric = mesh.fabric
    frames: dict[str, list[list[bytes]]] = {}
    sent = 0
    for (source, _, size), own in zip(transfers, shares, strict=True):
        count = size // FRAME_BYTES
        sent += count
        steered = [_steered(fabric, path) for path, _ in own]
        order = _in_turn([share for _, share in own], count)
        frames.setdefault(source, []).append([steered[number] for number in order])
    # A host with several transfers sends a frame of each in turn.
    hosts = {node.name: ScriptedHost(_merged(frames.get(node.name, []))) for node in fabric.nodes}
    rules = rule_set("T2-G", fabric)
    entries = {node.name: turn_entries(rules, fabric, node.name) for node in fabric.nodes}
    testbed = EmbeddedTestbed(fabric, credit_bytes=1 << 24)
    with filled(testbed, programs_of(fabric), entries):
        for link in fabric.links:
            if link.name not in mesh.rates:
                testbed.set_link(link.name, False)
            else:
                for direction in (0, 1):
                    how = Impairment(rate_bps=mesh.rates[link.name] * 10**9)
                    testbed.impair(link.name, direction, how)
        for name, host in hosts.items():
            testbed.attach(name, host)
        testbed.run()
        targets = {target for _, target, _ in transfers}
        times = [time for target in targets for time, _ in hosts[target].arrived]
        busy, busiest = _busiest(mesh, testbed)
    return Run(sent, len(times), max(times, default=inf) / 1e6, busiest, busy)


def _busiest(mesh: Mesh, testbed: EmbeddedTestbed) -> tuple[float, str]:
    """Return the busy time in us and the name of the direction that sent longest, from its byte counter."""
    busy = []
    for link in mesh.fabric.links:
        ends = (link.a.node, link.b.node)
        for usage, (sender, receiver) in zip(
            testbed.link_usage()[link.name], (ends, ends[::-1]), strict=True
        ):
            if link.name in mesh.rates:
                busy.append((usage.bytes * 8 / mesh.rates[link.name] / 1e3, f"{sender}->{receiver}"))
    return max(busy)


def _steered(fabric: Fabric, path: Path) -> bytes:
    ports = [*(fabric.port_to(*hop) for hop in hops_of(path)), HOST_PORT]
    return steered_frame(fabric.node(path[0]).address, fabric.node(path[-1]).address, ports, FRAME_BYTES)


def _in_turn(shares: Sequence[float], count: int) -> list[int]:
    """Return the number of a path for each frame: the path that is furthest behind its share."""
    sent = [0] * len(shares)
    order = []
    for frame in range(1, count + 1):
        behind = [share * frame - done for share, done in zip(shares, sent, strict=True)]
        number = behind.index(max(behind))
        sent[number] += 1
        order.append(number)
    return order


def _merged(lists: list[list[bytes]]) -> list[bytes]:
    """Return the frames of several transfers, spread evenly over each other."""
    placed = [
        ((position + 0.5) / len(own), number, frame)
        for number, own in enumerate(lists)
        for position, frame in enumerate(own)
    ]
    return [frame for _, _, frame in sorted(placed, key=lambda item: item[:2])]


def _as_paths(answer: Any) -> list[Path]:
    if not isinstance(answer, list) or not all(
        isinstance(path, list) and all(isinstance(node, str) for node in path) for path in answer
    ):
        raise StudentError("paths did not return a list of lists of nodes", "routing.py, paths")
    return [tuple(path) for path in answer]


def _as_shares(
    answer: Any, mesh: Mesh, transfers: list[Transfer], max_hops: int
) -> list[list[tuple[Path, float]]]:
    """Return the student's shares; StudentError if a path or a sum is impossible."""
    look = "routing.py, shares: what it returns"
    if not isinstance(answer, list) or len(answer) != len(transfers):
        raise StudentError("shares did not return a list for each transfer", look)
    result = []
    for (source, target, _), own in zip(transfers, answer, strict=True):
        where = f"{source} to {target}"
        try:
            pairs = [(tuple(path), float(share)) for path, share in own]
        except (TypeError, ValueError):
            raise StudentError(f"{where}: {str(own)[:80]} is no list of [path, share]", look) from None
        for path, share in pairs:
            if not isfinite(share) or not 0 <= share <= 1 + 1e-9:
                raise StudentError(f"{where}: {share} is no share", look)
            ends = len(path) > 1 and (path[0], path[-1]) == (source, target)
            links_up = all(hop in mesh.hop_rates for hop in pairwise(map(str, path)))
            if not ends or not links_up or len({*map(str, path)}) < len(path):
                raise StudentError(f"{where}: {_named(path)} is no path over working links", look)
            if len(path) > max_hops + 1:
                raise StudentError(f"{where}: {_named(path)} has more than {max_hops} hops", look)
        total = sum(share for _, share in pairs)
        if abs(total - 1) > 1e-6:
            raise StudentError(f"{where}: the shares add up to {total:g}, not 1", look)
        result.append(pairs)
    return result


def _named(path: Sequence[object]) -> str:
    return " ".join(map(str, path))
