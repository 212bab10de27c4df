# SPDX-License-Identifier: Apache-2.0
"""Messages between the controlling process and the parts, and their values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Any, Final, final

from emulation.mininet.links.endpoints import Tunnel
from emulation.mininet.switches.processes import SwitchKind
from topologies import End, Fabric

__all__ = ["BEGIN", "Answer", "Built", "Event", "Hello", "Needs", "Order", "PartPlan"]

BEGIN: Final = b"railyard part\n"
"""First line of a part's output; lines before it are from the login shell."""


@final
@dataclass(frozen=True, slots=True)
class Order:
    """An order to a part: the name of a method, such as "connections.join", and the method's arguments.

    The answer has the number of the order.
    """

    number: int
    method: str
    arguments: tuple[Any, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Answer:
    """Answer to the order `number`: its result `value`, or the message `error` with a remedy.

    `of_machine` is True if the error is a MachineError.
    """

    number: int
    value: Any = None
    error: str | None = None
    remedy: str = ""
    of_machine: bool = False


@final
@dataclass(frozen=True, slots=True)
class Event:
    """Event at a part.

    Kinds and arguments: "port" (node, port, up), "host" (message of a host process), "failed" (message,
    remedy), "line" (node, text) of a program, "launched" (error message or None) at the end of all programs,
    "ended" (), which the session itself adds, at the end of the connection.
    """

    kind: str
    arguments: tuple[Any, ...]


@final
@dataclass(frozen=True, slots=True)
class Hello:
    """Description of a part's machine.

    Attributes:
        version: Version of Railyard.
        hostname: Name of the machine.
        mtus: Interface and MTU of the route to each other machine, by address; None without a route.
        boot: Id of the kernel's last boot. Machines with equal ids are namespaces of one kernel, and share
            its processors.
        processors: Number of processors.
    """

    version: str
    hostname: str
    mtus: Mapping[IPv4Address, tuple[str, int] | None]
    boot: str
    processors: int


@final
@dataclass(frozen=True, slots=True)
class Needs:
    """Features that this run needs on every machine, in addition to the features that every run needs.

    See `need_machine` for their meaning.
    """

    delays: bool = False
    captures: bool = False
    lanes: bool = False


@final
@dataclass(frozen=True, slots=True)
class PartPlan:
    """A part to build: its nodes with all their links, and tunnels to the ends of links on other machines.

    `ip_others` are the CNAs of the hosts of all parts; None: hosts have no IPv4. All other fields are as in
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
    """A running part: id of its run, paths of its switches' sockets and namespaces of its hosts, by node.

    `seconds` has the duration of each stage of the part's start.
    """

    run: str
    sockets: Mapping[str, str]
    namespaces: Mapping[str, str]
    seconds: Mapping[str, float]
