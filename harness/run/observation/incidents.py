# SPDX-License-Identifier: Apache-2.0
"""Incidents: what each fault of a run led to, node by node and rank by rank. Times are picoseconds.

Each down and each up of a flap is an incident of its own. A reaction of a node counts for the fault that the
node detected at that moment. If it detected none, the reaction counts for the last fault of which it can have
been told and to which it has not reacted yet; if there is none, for the last fault that nobody noticed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, final

from harness.run.observation.fault_log import Activity, FaultTrace, RankTrace
from harness.run.observation.values import FaultReport, Observation

__all__ = ["Incident", "NodeReaction", "RankStall", "incidents_of"]

Learns = Literal["by itself", "by a notice", "by silence"]


@final
@dataclass(frozen=True, slots=True)
class NodeReaction:
    """Reaction of a node to a fault.

    Attributes:
        node: Name of the node.
        learns: `by itself` at an end of the link; `by a notice`; `by silence` of a path.
        learned_ps: Time at which the node knew of the fault.
        acted_ps: Time of its first table entry or notice.
        recovered_ps: Time of its last table entry; None if it rewrote none.
        entries: Number of table entries that it rewrote.
        notices: Number of messages that it sent.
    """

    node: str
    learns: Learns
    learned_ps: int
    acted_ps: int
    recovered_ps: int | None
    entries: int
    notices: int


@final
@dataclass(frozen=True, slots=True)
class RankStall:
    """The longest time in which a rank of a job received nothing after a fault, and the rank's end."""

    job: str
    rank: int
    node: str
    stall_ps: int
    finished_ps: int | None


@final
@dataclass(frozen=True)
class Incident:
    """A fault, or a phase of a flap, and what it led to.

    Attributes:
        fault: Position of the fault among those of the variant, by time.
        phase: Number of the phase; 0 but in a flap.
        text: The fault in words.
        at_ps: Time of the fault.
        links: Links that it is about.
        nodes: Nodes that reacted, in the order in which they knew.
        ranks: Ranks of all jobs that had not ended.
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
        """Time at which the first node noticed the fault by itself; None if none did."""
        return min((node.learned_ps for node in self.nodes if node.learns == "by itself"), default=None)

    @property
    def nodes_told(self) -> int:
        """Number of nodes that acted on a notice."""
        return sum(node.learns == "by a notice" for node in self.nodes)

    @property
    def nodes_rewritten(self) -> int:
        """Number of nodes that rewrote table entries."""
        return sum(node.entries > 0 for node in self.nodes)

    @property
    def entries(self) -> int:
        """Number of table entries rewritten."""
        return sum(node.entries for node in self.nodes)

    @property
    def notices(self) -> int:
        """Number of messages sent."""
        return sum(node.notices for node in self.nodes)

    @property
    def recovered_ps(self) -> int | None:
        """Time of the last table entry; None if none was rewritten."""
        return max((node.recovered_ps for node in self.nodes if node.recovered_ps is not None), default=None)

    @cached_property
    def stalled(self) -> tuple[RankStall, ...]:
        """Ranks that received nothing for a while."""
        return tuple(rank for rank in self.ranks if rank.stall_ps)

    @property
    def stall_ps(self) -> int:
        """The longest stall of a rank."""
        return max((rank.stall_ps for rank in self.ranks), default=0)

    @property
    def sentence(self) -> str:
        """The incident in a sentence."""
        parts = [self.text]
        if self.detected_ps is None:
            parts.append("no node noticed it by itself")
        else:
            after = _us(self.detected_ps - self.at_ps)
            parts.append(f"{_first_names(self.detected_by)} noticed it after {after} us")
        if self.nodes_told:
            parts.append(f"{self.nodes_told} node{'s' * (self.nodes_told > 1)} told")
        if self.recovered_ps is not None:
            parts.append(
                f"{self.entries} table entries of {self.nodes_rewritten} "
                f"node{'s' * (self.nodes_rewritten > 1)} right after {_us(self.recovered_ps - self.at_ps)} us"
            )
        if self.stalled:
            count = len(self.stalled)
            parts.append(f"{count} rank{'s' * (count > 1)} without data for up to {_us(self.stall_ps)} us")
        return "; ".join(parts)


def incidents_of(seen: Observation) -> tuple[Incident, ...]:
    """Return the incidents of a run by time; none of a run without faults."""
    trace = seen.trace
    if trace is None:
        return ()
    changes = sorted(
        (
            _Change(number, phase, fault, at_ps, up, trace)
            for number, fault in enumerate(seen.faults)
            for phase, (at_ps, up) in enumerate(fault.phases or ((fault.at_ps, fault.event == "up"),))
        ),
        key=lambda change: change.at_ps,
    )
    reactions: list[dict[str, list[tuple[Activity, Learns]]]] = [{} for _ in changes]
    for activity in trace.activities:
        cause = _cause(activity, changes, reactions, trace)
        if cause is not None:
            number, learns = cause
            reactions[number].setdefault(activity.node, []).append((activity, learns))
    ends = [*(change.at_ps for change in changes[1:]), None]
    return tuple(
        Incident(
            change.number,
            change.phase,
            change.text,
            change.at_ps,
            change.fault.about,
            tuple(
                sorted(
                    (_reaction(node, acts, trace) for node, acts in reaction.items()),
                    key=lambda node: (node.learned_ps, node.acted_ps),
                )
            ),
            tuple(
                _stall(rank, change.at_ps, end)
                for rank in trace.ranks
                if rank.finished_ps is None or rank.finished_ps > change.at_ps
            ),
        )
        for change, reaction, end in zip(changes, reactions, ends, strict=True)
    )


@final
class _Change:
    """A fault, or a phase of a flap, with the nodes at the ends of its links."""

    def __init__(
        self, number: int, phase: int, fault: FaultReport, at_ps: int, up: bool, trace: FaultTrace
    ) -> None:
        self.number, self.phase, self.fault, self.at_ps = number, phase, fault, at_ps
        self.moves_carrier = fault.event in ("down", "up", "flap")
        self.text = fault.text
        if fault.event == "flap":
            self.text = f"{fault.target} goes {'up' if up else 'down'} ({phase // 2 + 1} of a flap)"
        self.ends = frozenset(node for link in fault.about for node in trace.ends.get(link, ()))


def _cause(
    activity: Activity,
    changes: Sequence[_Change],
    reactions: Sequence[dict[str, list[tuple[Activity, Learns]]]],
    trace: FaultTrace,
) -> tuple[int, Learns] | None:
    """Return the position of the change to which a node reacts, and how it came to know of it."""
    learned_ps = activity.at_ps - trace.processing_ps
    before = [number for number, change in enumerate(changes) if change.at_ps <= learned_ps]
    of_node = {number: acts for number in before if (acts := reactions[number].get(activity.node))}
    for number, acts in of_node.items():
        if acts[-1][0].at_ps == activity.at_ps:
            return number, acts[-1][1]  # notices of the node that has just rewritten its entries
    for number in reversed(before):
        change = changes[number]
        detected = learned_ps == change.at_ps + trace.detect_ps and change.moves_carrier
        # Hellos, LACP and real time have no fixed time of detection.
        if activity.node in change.ends and (detected or not (trace.exact or number in of_node)):
            return number, "by itself"
    told_ps = learned_ps - trace.detect_ps - trace.processing_ps
    for number in reversed(before):
        if changes[number].at_ps <= told_ps and number not in of_node and _noticed(reactions[number]):
            return number, "by a notice"
    impaired = [number for number in before if not changes[number].moves_carrier]
    return ((impaired or before)[-1], "by silence") if before else None


def _noticed(reactions: Mapping[str, Sequence[tuple[Activity, Learns]]]) -> bool:
    return any(learns == "by itself" for acts in reactions.values() for _, learns in acts)


def _reaction(node: str, acts: Sequence[tuple[Activity, Learns]], trace: FaultTrace) -> NodeReaction:
    first = acts[0][0]
    rewrites = [activity for activity, _ in acts if activity.kind == "rewrite"]
    return NodeReaction(
        node=node,
        learns=acts[0][1],
        learned_ps=max(0, first.at_ps - trace.processing_ps),
        acted_ps=first.at_ps,
        recovered_ps=max((activity.at_ps for activity in rewrites), default=None),
        entries=sum(activity.count for activity in rewrites),
        notices=sum(activity.count for activity, _ in acts if activity.kind == "notice"),
    )


def _stall(rank: RankTrace, begin_ps: int, end_ps: int | None) -> RankStall:
    """Return the longest silence of a rank from a fault until the next fault."""
    longest = 0
    for silent_ps, until_ps in rank.silences:
        last_ps = until_ps if end_ps is None else min(until_ps, end_ps)
        longest = max(longest, last_ps - max(silent_ps, begin_ps))
    return RankStall(rank.job, rank.rank, rank.node, longest, rank.finished_ps)


def _us(time_ps: int) -> str:
    return f"{time_ps / 10**6:.4g}"


def _first_names(names: Sequence[str]) -> str:
    more = len(names) - 4
    return ", ".join(names[:4]) + (f" and {more} more" if more > 0 else "")
