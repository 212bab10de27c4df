# SPDX-License-Identifier: Apache-2.0
"""Checks of all machines before anything is made on them: versions, routes, MTU, delivery of packets."""

import time
from collections.abc import Mapping, Sequence
from typing import Final

from emulation.errors import MachineError
from emulation.mininet.cluster.machines import Machines
from emulation.mininet.cluster.orders import Hello, Needs
from emulation.mininet.cluster.sessions import Sessions

__all__ = ["VXLAN_BYTES", "check_machines", "processors"]

VXLAN_BYTES: Final = 14 + 8 + 8 + 20
"""Bytes that a tunnel adds to a packet: inner Ethernet, VXLAN, UDP and IPv4 headers."""

_PROBE_SECONDS: Final = 10.0

Pairs = Sequence[tuple[str, str]]


def check_machines(
    sessions: Sessions, machines: Machines, pairs: Pairs, mtu: int, needs: Needs
) -> Mapping[str, Hello]:
    """Check the machines, and return their descriptions by name.

    Args:
        sessions: sessions with all machines.
        machines: the machines.
        pairs: ordered pairs of machines with tunnels between them.
        mtu: bytes of the longest UB packet on a link.
        needs: features that every machine must have.

    Raises:
        MachineError: A machine fails a check; the message names the machine.
    """
    addresses = {machine.name: machine.address for machine in machines.machines}
    hellos: dict[str, Hello] = sessions.each(
        lambda session: session.call(
            "hello", [other for name, other in addresses.items() if name != session.machine.name], needs
        )
    )
    versions = {hello.version for hello in hellos.values()}
    if len(versions) > 1:
        told = ", ".join(f"{name} has {hello.version}" for name, hello in hellos.items())
        raise MachineError(
            f"machines have different versions of Railyard: {told}",
            remedy="install the same version on all machines",
        )
    needed = mtu + VXLAN_BYTES
    for name, other in pairs:
        way = hellos[name].mtus[addresses[other]]
        if way is None:
            raise MachineError(
                f"machine {name} has no route to {addresses[other]} of machine {other}",
                remedy="mend `address`, or the routes",
            )
        interface, most = way
        if most < needed:
            raise MachineError(
                f"machine {name}: {interface}, towards machine {other}, has an MTU of {most}: a link "
                f"of {mtu} bytes needs {needed} with VXLAN",
                remedy=f"`ip link set {interface} mtu {needed}` and on the switches between them",
            )
    _probe(sessions, machines, pairs, needed)
    return hellos


def processors(hellos: Mapping[str, Hello]) -> int:
    """Return the number of processors of all machines; machines that share a kernel count once."""
    return sum({hello.boot: hello.processors for hello in hellos.values()}.values())


def _probe(sessions: Sessions, machines: Machines, pairs: Pairs, packet_bytes: int) -> None:
    """Have the machines of each pair send packets of `packet_bytes`, unfragmented, until all have arrived."""
    addresses = {machine.name: machine.address for machine in machines.machines}
    ports = sessions.each(lambda session: session.call("open_probe", session.machine.address))
    missing = set(pairs)
    deadline = time.monotonic() + _PROBE_SECONDS
    while missing:
        for sender, receiver in missing:
            sessions[sender].call("send_probe", addresses[receiver], ports[receiver], packet_bytes)
        heard = sessions.each(lambda session: session.call("heard"))
        missing = {
            (sender, receiver)
            for sender, receiver in missing
            if str(addresses[sender]) not in heard[receiver]
        }
        if missing and time.monotonic() > deadline:
            sender, receiver = min(missing)
            raise MachineError(
                f"packets of {packet_bytes} bytes from machine {sender} do not reach machine {receiver} "
                f"({addresses[receiver]})",
                remedy="let UDP pass, and see that every interface and switch between them has that MTU",
            )
        if missing:
            time.sleep(0.05)
