# SPDX-License-Identifier: Apache-2.0
"""Incidents: the consequences of each fault of a run, by node and by rank; times are in picoseconds.

Each down and each up of a flap is an incident of its own. Reactions of controllers are attributed to
incidents as follows. A reaction to news of a link belongs to the last change of that link in the same
direction, up or down. A reaction to an agent's silence belongs to the last fault without a change of carrier,
if there is one. Any other reaction belongs to the last fault. A rank's time without data belongs to the first
fault during that time, else to the last fault before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

from emulation.control.activity import Activity, Learns
from harness.run.observation.fault_log import FaultTrace, RankTrace
from harness.run.observation.values import FaultReport, Observation
from harness.run.observation.variant_run import us

__all__ = ["Incident", "NodeReaction", "RankStall", "first_names", "incidents_of"]


@final
@dataclass(frozen=True, slots=True)
class NodeReaction:
    """Reaction of a node to a fault.

    Attributes:
        node: Name of the node.
        learns: Source from which the node first learned of the fault; see emulation.control.activity.
        told_by: Nodes that sent the notices to which the node reacted, in the order of arrival.
        learned_ps: Time at which the node learned of the fault.
        acted_ps: Time of the node's first table write or notice.
        recovered_ps: Time of the node's last table write; None if it rewrote no entry.
        entries: Number of table entries that the node rewrote.
        notices: Number of messages that the node sent.
    """

    node: str
    learns: Learns
    told_by: tuple[str, ...]
    learned_ps: int
    acted_ps: int
    recovered_ps: int | None
    entries: int
    notices: int

    def record(self, fault_ps: int) -> dict[str, Any]:
        """Return the reaction as a JSON object; times are us after `fault_ps`, the time of the fault."""
        return {
            "node": self.node,
            "learns": self.learns,
            "told_by": list(self.told_by),
            "learned_us": us(self.learned_ps - fault_ps),
            "acted_us": us(self.acted_ps - fault_ps),
            "recovered_us": None if self.recovered_ps is None else us(self.recovered_ps - fault_ps),
            "entries_rewritten": self.entries,
            "notices": self.notices,
        }


@final
@dataclass(frozen=True, slots=True)
class RankStall:
    """Stall of a rank: the longest time (`stall_ps`) without data that belongs to a fault."""

    job: str
    rank: int
    node: str
    stall_ps: int
    finished_ps: int | None


@final
@dataclass(frozen=True)
class Incident:
    """A fault, or a phase of a flap, and its consequences.

    Attributes:
        fault: Index of the fault among the faults of the variant, by time.
        phase: Index of the phase in a flap; 0 for other faults.
        text: Description of the fault.
        at_ps: Time of the fault.
        links: Links of the fault's target.
        nodes: Reactions of nodes, in the order in which the nodes learned of the fault.
        ranks: Stalls of the ranks that had not finished at the time of the fault.
    """

    fault: int
    phase: int
    text: str
    at_ps: int
    links: tuple[str, ...]
    nodes: tuple[NodeReaction, ...]
    ranks: tuple[RankStall, ...]

    @cached_property
    def detected_by(self) -> tuple[str, ...]:
        """Nodes that noticed the fault by themselves."""
        return tuple(node.node for node in self.nodes if node.learns == "by itself")

    @property
    def detected_ps(self) -> int | None:
        """Time in ps at which the first node noticed the fault by itself; None if none did."""
        return min((node.learned_ps for node in self.nodes if node.learns == "by itself"), default=None)

    @property
    def nodes_told(self) -> int:
        """Number of nodes that learned of the fault by a notice and acted."""
        return sum(node.learns == "by a notice" for node in self.nodes)

    @property
    def tellers(self) -> tuple[str, ...]:
        """Nodes from which other nodes got their first notice, in descending order of nodes told."""
        told = Counter(node.told_by[0] for node in self.nodes if node.told_by)
        return tuple(name for name, _ in told.most_common())

    @property
    def nodes_rewritten(self) -> int:
        """Number of nodes that rewrote table entries because of the fault."""
        return sum(node.entries > 0 for node in self.nodes)

    @property
    def entries(self) -> int:
        """Number of table entries rewritten because of the fault."""
        return sum(node.entries for node in self.nodes)

    @property
    def notices(self) -> int:
        """Number of messages sent because of the fault."""
        return sum(node.notices for node in self.nodes)

    @property
    def recovered_ps(self) -> int | None:
        """Time in ps of the last table write that the fault caused; None if no entry was rewritten."""
        return max((node.recovered_ps for node in self.nodes if node.recovered_ps is not None), default=None)

    @cached_property
    def stalled(self) -> tuple[RankStall, ...]:
        """Stalls of the ranks that received nothing for some time after the fault."""
        return tuple(rank for rank in self.ranks if rank.stall_ps)

    @property
    def stall_ps(self) -> int:
        """Longest stall of a rank, in ps; 0 if no rank stalled."""
        return max((rank.stall_ps for rank in self.ranks), default=0)

    @property
    def sentence(self) -> str:
        """Sentence about the incident: detection, notices, rewritten entries and stalled ranks."""
        parts = [self.text]
        if self.detected_ps is None:
            parts.append("no node noticed it by itself")
        else:
            after = _us(self.detected_ps - self.at_ps)
            parts.append(f"{first_names(self.detected_by)} noticed it after {after} µs")
        if self.nodes_told:
            tellers = first_names(self.tellers)
            parts.append(f"{tellers} told {self.nodes_told} node{'s' * (self.nodes_told > 1)}")
        if self.recovered_ps is not None:
            parts.append(
                f"{self.entries} table entries of {self.nodes_rewritten} "
                f"node{'s' * (self.nodes_rewritten > 1)} right after {_us(self.recovered_ps - self.at_ps)} µs"
            )
        if self.stalled:
            count = len(self.stalled)
            parts.append(f"{count} rank{'s' * (count > 1)} without data for up to {_us(self.stall_ps)} µs")
        return "; ".join(parts)


def incidents_of(seen: Observation) -> tuple[Incident, ...]:
    """Return the incidents of a run in the order of time; empty for a run without faults."""
    trace = seen.trace
    if trace is None:
        return ()
    changes = sorted(
        (
            _Change(number, phase, fault, at_ps, up)
            for number, fault in enumerate(seen.faults)
            for phase, (at_ps, up) in enumerate(fault.phases or ((fault.at_ps, fault.event == "up"),))
        ),
        key=lambda change: change.at_ps,
    )
    reactions: list[dict[str, list[Activity]]] = [{} for _ in changes]
    for activity in trace.activities:
        cause = _cause(activity, changes, trace)
        if cause is not None:
            reactions[cause].setdefault(activity.node, []).append(activity)
    stalls = [_stalls(rank, changes) for rank in trace.ranks]
    return tuple(
        Incident(
            change.number,
            change.phase,
            change.text,
            change.at_ps,
            change.fault.about,
            tuple(
                sorted(
                    (_reaction(node, acts) for node, acts in reaction.items()),
                    key=lambda node: (node.learned_ps, node.acted_ps),
                )
            ),
            tuple(
                RankStall(rank.job, rank.rank, rank.node, stall[number], rank.finished_ps)
                for rank, stall in zip(trace.ranks, stalls, strict=True)
                if rank.finished_ps is None or rank.finished_ps > change.at_ps
            ),
        )
        for number, (change, reaction) in enumerate(zip(changes, reactions, strict=True))
    )


@final
class _Change:
    """A fault, or a phase of a flap, as a possible cause of reactions."""

    def __init__(self, number: int, phase: int, fault: FaultReport, at_ps: int, up: bool) -> None:
        self.number, self.phase, self.fault, self.at_ps, self.up = number, phase, fault, at_ps, up
        self.links = frozenset(fault.about)
        self.moves_carrier = fault.event in ("down", "up", "flap")
        self.mild = up or fault.event in ("clear", "delay")
        self.text = fault.text
        if fault.event == "flap":
            self.text = f"{fault.target} goes {'up' if up else 'down'} ({phase // 2 + 1} of a flap)"


def _cause(activity: Activity, changes: Sequence[_Change], trace: FaultTrace) -> int | None:
    """Return the index in `changes` of the cause of a node's activity; None before the first change."""
    news = activity.news
    before = [
        number for number, change in enumerate(changes) if change.at_ps <= news.learned_ps - trace.detect_ps
    ]
    if news.learns == "by silence":
        before = [number for number, change in enumerate(changes) if change.at_ps <= news.learned_ps]
        before = [number for number in before if not changes[number].moves_carrier] or before
    if news.link is not None:
        about = [number for number in before if news.link in changes[number].links]
        turned = [n for n in about if changes[n].moves_carrier and changes[n].up == news.up]
        before = turned or about or before
    return before[-1] if before else None


def _reaction(node: str, acts: Sequence[Activity]) -> NodeReaction:
    first = acts[0]
    rewrites = [activity for activity in acts if activity.kind == "rewrite"]
    notices = [act.news.teller for act in acts if act.news.learns == "by a notice" and act.news.teller]
    return NodeReaction(
        node=node,
        learns=first.news.learns,
        told_by=tuple(dict.fromkeys(notices)),
        learned_ps=first.news.learned_ps,
        acted_ps=first.at_ps,
        recovered_ps=max((activity.at_ps for activity in rewrites), default=None),
        entries=sum(activity.count for activity in rewrites),
        notices=sum(activity.count for activity in acts if activity.kind == "notice"),
    )


def _stalls(rank: RankTrace, changes: Sequence[_Change]) -> list[int]:
    """Return a rank's longest silence for each change, counted from the change, in ps.

    A silence belongs to the first fault that happens during the silence. Without such a fault it belongs to
    the last fault before the silence. A silence belongs to the end of a fault (`up`, `clear`) or to an added
    delay only if it belongs to no other change.
    """
    longest = [0] * len(changes)
    for silent_ps, until_ps in rank.silences:
        during = [n for n, change in enumerate(changes) if silent_ps <= change.at_ps < until_ps]
        before = [n for n, change in enumerate(changes) if change.at_ps < silent_ps]
        candidates = [*during, *reversed(before)]
        owner = next((n for n in candidates if not changes[n].mild), next(iter(candidates), None))
        if owner is not None:
            begin_ps = max(silent_ps, changes[owner].at_ps)
            longest[owner] = max(longest[owner], until_ps - begin_ps)
    return longest


def _us(time_ps: int) -> str:
    time_us = time_ps / 10**6
    return f"{time_us:.4g}" if time_us < 10**4 else f"{time_us:,.0f}"


def first_names(names: Sequence[str]) -> str:
    """Return the first four names, and the number of further names, as text."""
    more = len(names) - 4
    return ", ".join(names[:4]) + (f" and {more} more" if more > 0 else "")
