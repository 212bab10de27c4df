# SPDX-License-Identifier: Apache-2.0
"""Lower bounds of a graph's time in picoseconds, without headers, propagation and waiting for links."""

from collections import defaultdict
from collections.abc import Mapping

from emulation.traffic.graph.operations import Graph
from emulation.traffic.graph.order import in_order

__all__ = ["BUSIEST", "CHAIN", "graph_bounds_ps", "longest_chain"]

CHAIN = "longest chain of operations, each send at the rate of all links of its source or its target"
BUSIEST = "bytes that leave or reach a member, over the rate of all its links"


def graph_bounds_ps(graph: Graph, rates_bps: Mapping[str, float]) -> dict[str, float]:
    """Return lower bounds in ps by description; `rates_bps` has the summed rate of each member's links."""
    return {CHAIN: longest_chain(graph, rates_bps)[0], BUSIEST: _busiest_ps(graph, rates_bps)}


def longest_chain(graph: Graph, rates_bps: Mapping[str, float]) -> tuple[float, tuple[str, ...]]:
    """Return the time of the longest chain of operations in ps, and the names of its operations."""
    ends: list[dict[str, float]] = [{} for _ in graph.operations]
    before: dict[int, int] = {}
    senders = {receive: send for send, receive in graph.receive_of.items()}
    arrived: dict[int, float] = {}
    for number in in_order(graph):
        operation = graph.operations[number]
        after = [graph.end_of(name, operation.member) for name in operation.after]
        begin = 0.0
        if after:
            last = max(after, key=lambda other: ends[other][operation.member])
            begin, before[number] = ends[last][operation.member], last
        begin = max(begin + operation.delay_ps, operation.at_ps)
        end = begin + operation.compute_ps
        if operation.kind == "send":
            rate = min(rates_bps[operation.member], rates_bps[operation.peer])
            arrived[number] = end + operation.size * 8 * 10**12 / rate
            if isinstance(operation.read, str):  # the last element cannot leave before it has arrived
                source = graph.end_of(operation.read, operation.member)
                if ends[source][operation.member] > arrived[number]:
                    arrived[number], before[number] = ends[source][operation.member], source
            # A send can end at its source with a window still under way: its sending time is not counted.
            ends[number] = {operation.member: end}
            if number not in graph.receive_of:
                ends[number][operation.peer] = arrived[number]
        elif operation.kind == "receive":
            if arrived[senders[number]] >= begin:
                begin, before[number] = arrived[senders[number]], senders[number]
            ends[number] = {operation.member: begin}
        else:
            ends[number] = {operation.member: end}
    last = max(range(len(ends)), key=lambda number: max(ends[number].values(), default=0.0))
    longest = max(ends[last].values())
    chain = [last]
    while chain[-1] in before:
        chain.append(before[chain[-1]])
    return longest, tuple(graph.operations[number].id for number in reversed(chain))


def _busiest_ps(graph: Graph, rates_bps: Mapping[str, float]) -> float:
    leaving: dict[str, int] = defaultdict(int)
    reaching: dict[str, int] = defaultdict(int)
    for operation in graph.operations:
        if operation.kind == "send":
            leaving[operation.member] += operation.size
            reaching[operation.peer] += operation.size
    return max(
        (
            size * 8 * 10**12 / rates_bps[name]
            for totals in (leaving, reaching)
            for name, size in totals.items()
        ),
        default=0.0,
    )
