# SPDX-License-Identifier: Apache-2.0
"""Values that the controlling process and the parts exchange."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Any, Final, final

from emulation.mininet.links.endpoints import Tunnel
from emulation.mininet.switches.processes import SwitchKind
from topologies import End, Fabric

__all__ = ["BEGIN", "Answer", "Built", "Event", "Hello", "Needs", "Order", "PartPlan"]

BEGIN: Final = b"railyard part\n"
"""Line by which a part begins: whatever a login shell prints comes before."""


@final
@dataclass(frozen=True, slots=True)
class Order:
    """A method of the part with its arguments; the answer has the same number."""

    number: int
    method: str
    arguments: tuple[Any, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Answer:
    """Result of an order, or the words of its error; `of_machine`: the machine is at fault, not the order."""

    number: int
    value: Any = None
    error: str | None = None
    remedy: str = ""
    of_machine: bool = False


@final
@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened at a part.

    Kinds: "port" (node, port, up), "host" (message of a host process), "failed" (message, remedy), "line"
    (node, text) of a program, "launched" (error or None) when all programs have ended.
    """

    kind: str
    arguments: tuple[Any, ...]


@final
@dataclass(frozen=True, slots=True)
class Hello:
    """A part's own description: version, host name, and the MTU towards each address; None: no route.

    `boot` is the id of the kernel's start, which namespaces of one kernel share, with its `processors`.
    """

    version: str
    hostname: str
    mtus: Mapping[IPv4Address, tuple[str, int] | None]
    boot: str
    processors: int


@final
@dataclass(frozen=True, slots=True)
class Needs:
    """Features that a run needs on every machine beside those of any fabric; see `need_machine`."""

    delays: bool = False
    captures: bool = False
    lanes: bool = False


@final
@dataclass(frozen=True, slots=True)
class PartPlan:
    """A part to build: its nodes with all their links, and the tunnels in place of nodes of other parts.

    `ip_others` are the CNAs of hosts of other parts; None: hosts have no IPv4. `frame_bytes` as in
    MininetTestbed.
    """

    fabric: Fabric
    switch: SwitchKind
    dilation: int
    mtu: int
    ip_others: Sequence[int] | None
    tunnels: Mapping[End, Tunnel]
    lanes: bool = False
    frame_bytes: int | None = None


@final
@dataclass(frozen=True, slots=True)
class Built:
    """A part that runs: id of its run, sockets of its switches by node, namespaces of its hosts by node."""

    run: str
    sockets: Mapping[str, str]
    namespaces: Mapping[str, str]
    seconds: Mapping[str, float]
