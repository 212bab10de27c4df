# SPDX-License-Identifier: Apache-2.0
"""Agents of the oracle, made from descriptions, alone or on an embedded testbed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, final

from emulation.embedded.testbed import EmbeddedTestbed
from emulation.traffic.host import agents
from emulation.traffic.host.spec import AgentSpec, agent_specs
from emulation.traffic.tree.spec import MemberSpec
from harness.run.prepare import Prepared
from harness.run.testbeds import Embedded
from tests.oracle.agent import Agent
from tests.oracle.repeating import RepeatingAgent
from tests.oracle.tree_member import TreeMember

__all__ = ["HOSTS", "EmbeddedOracle", "Hosts", "embedded", "make_agents", "oracle_agents"]

Hosts = Literal["native", "python"]
"""Agents in C++, or those of the oracle."""

HOSTS: tuple[Hosts, Hosts] = ("native", "python")


def oracle_agents(specs: Sequence[AgentSpec | MemberSpec], threads: int = 1) -> list[Any]:
    """Return the oracle's agent of each description, as `emulation.traffic.host.agents.make_agents` does."""
    return [_agent(spec) for spec in specs]


def _agent(spec: AgentSpec | MemberSpec) -> Agent | RepeatingAgent | TreeMember:
    if isinstance(spec, MemberSpec):
        return TreeMember(spec)
    data = spec.data
    given: dict[str, Any] = {"parameters": spec.transport, "reduction": spec.reduction}
    if spec.profile is not None:
        return RepeatingAgent(spec.rank, spec.sliced, data, spec.addresses, spec.profile, **given)
    return Agent(spec.rank, spec.sliced, data, spec.addresses, job=spec.job, **given)


def make_agents(hosts: Hosts, *collective: Any, threads: int = 1, **given: Any) -> list[Any]:
    """Return the agents of a collective, of either kind; `agent_specs` explains the other arguments."""
    specs = agent_specs(*collective, **given)
    return agents.make_agents(specs, threads) if hosts == "native" else oracle_agents(specs)


@final
@dataclass(frozen=True, slots=True)
class EmbeddedOracle:
    """Choice of an embedded testbed whose agents are those of the oracle, which need the fabric whole."""

    name: str = "embedded"
    switch: str = ""
    options: Sequence[str] = ()

    def check_machine(self, *, captures: bool) -> None:
        """Check as for agents in C++."""
        Embedded().check_machine(captures=captures)

    def check(self, prepared: Sequence[Prepared], *, captures: bool) -> None:
        """Check as for agents in C++."""
        Embedded().check(prepared, captures=captures)

    def make(self, ready: Prepared, bin_ps: int, seed: int, *, captures: bool = False) -> EmbeddedTestbed:
        """Return a testbed in virtual time."""
        testbed = Embedded(whole=True).make(ready, bin_ps, seed, captures=captures)
        testbed.make_agents = oracle_agents
        return testbed


def embedded(hosts: Hosts) -> Embedded | EmbeddedOracle:
    """Return the choice of an embedded testbed with agents of a kind."""
    return Embedded() if hosts == "native" else EmbeddedOracle()
