# SPDX-License-Identifier: Apache-2.0
"""Settings of a variant's controllers: times, job scheduler, and the identities of ToRs in LACPDUs."""

from __future__ import annotations

import re
from typing import Annotated, Literal, final

from pydantic import AfterValidator, Field

from controller.jobs import schedulers
from controller.recovery.lacp import SYSTEM, TOR_IDENTITIES, TorIdentity
from harness.scenario.topology import Model, NotNegative
from topologies.errors import suggestion
from topologies.plugins.python_file import is_reference

__all__ = ["Control", "LacpTor"]


def _unicast(system: str) -> str:
    """Return a unicast MAC address in lower case; raise a ValueError for any other text."""
    octets = system.lower().split(":")
    if len(octets) != 6 or not all(re.fullmatch("[0-9a-f]{2}", octet) for octet in octets):
        raise ValueError(f"{system!r} is not a MAC address; write six octets such as 00:00:5e:00:01:01")
    if int(octets[0], 16) & 1:
        raise ValueError(f"{system!r} is a multicast address; clear the last bit of its first octet")
    return system.lower()


@final
class LacpTor(Model):
    """Identity of a ToR in its LACPDUs: the system's MAC address, and the offset added to port numbers."""

    system: Annotated[str, AfterValidator(_unicast)] = SYSTEM
    port_offset: Annotated[int, Field(ge=0, le=65280)]

    @property
    def identity(self) -> TorIdentity:
        """Identity as a TorIdentity, for the ToR's controller."""
        return TorIdentity(self.system, self.port_offset)


# The engine counts picoseconds; a period of zero of them never ends.
_LONGEST_US = 1e9
Period = Annotated[float, Field(ge=0.001, le=_LONGEST_US, allow_inf_nan=False)]


def _known_scheduler(name: str) -> str:
    """Return `name` if it is a known job scheduler; else raise a ValueError with close matches or all."""
    known = ("none", "crux", "shortest-first", *schedulers.names()[len(schedulers.SCHEDULERS) :])
    if name in known or is_reference(name):
        return name
    raise ValueError(f"there is no scheduler {name!r}; {suggestion(name, known)}")


@final
class Control(Model):
    """Settings of the controllers of a variant: reaction times, hellos, LACP, spares, circuits, scheduler.

    Attributes:
        processing_us: Time from a message at a node to the table writes that the message causes.
        repeat_us: Time after which an unacknowledged notice is sent again; None sends each notice once.
        hello_us: Time between two hellos on a link; None sends no hellos.
        hello_multiplier: Consecutive hellos that must be missing to take a link out of use, or arrive to take
            it back.
        lacp_us: Time between two LACPDUs of a NIC port; None sends no LACPDUs.
        lacp_multiplier: Consecutive LACPDUs that must be missing for a port to leave its bundle.
        lacp_tors: Identities that the two ToRs of a set announce in their LACPDUs.
        lanes_us: Time for which a SerDes lane carries no data when it moves to another dimension at the start
            of a job; None means 1 us.
        migrate_us: Time that a spare needs to replace a failed node.
        circuits: Optical circuits as the topology has them (`static`), or allocated for the running jobs.
        scheduler: `none` keeps the priorities of the file; other schedulers measure each job and choose them.
        drain_us: Time between the removal of a circuit's routes and the removal of the circuit.
        hash: Bits of a flow's hash by which switches choose: different bits on each tier, or identical bits.
    """

    processing_us: Annotated[NotNegative, Field(le=_LONGEST_US)] = 5.0
    repeat_us: Period | None = 20.0
    hello_us: Period | None = None
    hello_multiplier: Annotated[int, Field(ge=2, le=255)] = 3
    lacp_us: Period | None = None
    lacp_multiplier: Annotated[int, Field(ge=2, le=255)] = 3
    lacp_tors: tuple[LacpTor, LacpTor] | None = None
    # Excluded from the scenario's hash unless given, so that older scenarios keep their hash.
    lanes_us: Annotated[float | None, Field(ge=0, le=10_000, exclude_if=lambda value: value is None)] = None
    migrate_us: Annotated[float, Field(ge=0, le=10_000)] = 10.0
    circuits: Literal["static", "per-job"] = "static"
    scheduler: Annotated[str, AfterValidator(_known_scheduler)] = "none"
    drain_us: Annotated[float, Field(ge=0, le=10_000)] = 10.0
    hash: Literal["per-tier", "identical"] = "per-tier"

    @property
    def tor_identities(self) -> tuple[TorIdentity, ...]:
        """Identities announced by the ToRs of a set: `lacp_tors`, or the default identities."""
        return tuple(tor.identity for tor in self.lacp_tors) if self.lacp_tors else TOR_IDENTITIES
