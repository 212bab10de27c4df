# SPDX-License-Identifier: Apache-2.0
"""Agents at the host ports of the embedded testbed: attached, replaced, and their outcomes."""

import threading
from collections.abc import Mapping
from typing import Any, final

from emulation._engine import Application, Network
from emulation.embedded.virtual_time import call_engine
from emulation.traffic.host.participant import Host, Output, Participant, RepeatingParticipant
from emulation.traffic.host.stats import Ended, Outcome
from emulation.traffic.schedule.data import Array

__all__ = ["Agents"]


@final
class Agents:
    """The agents attached to the host ports of nodes; `ports` is the engine's number of each host port."""

    def __init__(self, network: Network, ports: Mapping[str, int], lock: threading.RLock) -> None:
        self._network = network
        self._ports = ports
        self._lock = lock
        self._attached: dict[str, Any] = {}
        self._before: dict[str, Ended] = {}  # by node, its agents before the last restart

    def attach(self, node: str, host: Host | Application) -> None:
        """Attach `host` to the node's host port, in place of an earlier agent, and start it."""
        if hasattr(self._attached.get(node), "stats"):
            self._keep_counts(node)
        self._attached[node] = host
        with self._lock:
            self._network.set_handler(self._ports[node], host)
        self.start(node)

    def start(self, node: str) -> None:
        """Start the agent of a node and send its frames; a host of several agents starts its new agents."""
        with self._lock:
            call_engine(lambda: self._network.start(self._ports[node]))

    def remove_all(self) -> None:
        """Remove all agents and keep their counts; frames already handed to the host port still leave."""
        for node in self._attached:
            self._keep_counts(node)
            with self._lock:
                self._network.set_handler(self._ports[node], None)
        self._attached.clear()

    def _keep_counts(self, node: str) -> None:
        old, past = self._attached[node], self._before.get(node)
        stats = old.stats + past.stats if past else old.stats
        self._before[node] = Ended(old.result, stats, None, None)

    def forget(self) -> None:
        """Remove all agents, their arrays and their counts."""
        for number in self._ports.values():
            self._network.set_handler(number, None)
        self._attached.clear()
        self._before.clear()

    @property
    def busy(self) -> bool:
        """True while an agent is not done and no agent has failed."""
        hosts = self._attached.values()
        return not any(host.failed for host in hosts) and any(not host.done for host in hosts)

    def outcome(self, node: str) -> Outcome:
        """Return the outcome of a node's agent so far, with the counts of replaced agents added."""
        if node not in self._before:
            return self._attached[node]
        past, now = self._before[node], self._attached.get(node)
        if now is None:
            return past
        return Ended(now.result, past.stats + now.stats, now.finished_ps, now.failed, now.times)

    def set_level(self, node: str, level: int) -> None:
        """Set the service level of the data of a node's agent from its next iteration on."""
        host = self._attached[node]
        if isinstance(host, RepeatingParticipant):
            host.set_level(level)

    def of(self, node: str) -> Any:
        """Return the agent attached to a node's host."""
        return self._attached[node]

    def replaced_result(self, node: str) -> Array:
        """Return the array of the agent replaced by the node's present agent."""
        return self._before[node].result

    def act(self, node: str, answer: Output) -> None:
        """Carry out an agent's output from outside its callbacks: send the frames, set the deadline."""
        with self._lock:
            call_engine(lambda: self._network.act(self._ports[node], answer))

    def routes_lost(self, node: str, lost: Mapping[int, frozenset[int]]) -> None:
        """Tell a node's agent the buckets moved off a failed link or silent path, by destination CNA."""
        host = self._attached.get(node)
        if isinstance(host, Participant):
            with self._lock:
                answer = host.on_reroute(lost, self._network.now)
                call_engine(lambda: self._network.act(self._ports[node], answer))
