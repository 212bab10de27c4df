# SPDX-License-Identifier: Apache-2.0
"""Controllers of a variant: their times, their scheduler, and the identities that ToRs announce by LACP."""

from __future__ import annotations

import re
from typing import Annotated, Literal, final

from pydantic import AfterValidator, Field

from controller.jobs import schedulers
from controller.recovery.lacp import SYSTEM, TOR_IDENTITIES, TorIdentity
from harness.scenario.topology import Model, NotNegative, Positive
from topologies.errors import suggestion
from topologies.plugins.python_file import is_reference

__all__ = ["Control", "LacpTor"]


def _unicast(system: str) -> str:
    """Return a MAC address of a single station in lower case; ValueError for any other text."""
    octets = system.lower().split(":")
    if len(octets) != 6 or not all(re.fullmatch("[0-9a-f]{2}", octet) for octet in octets):
        raise ValueError(f"{system!r} is no MAC address; write six octets such as 00:00:5e:00:01:01")
    if int(octets[0], 16) & 1:
        raise ValueError(f"{system!r} is the address of a group; clear the last bit of its first octet")
    return system.lower()


@final
class LacpTor(Model):
    """Identity of a ToR in its LACPDUs: its system, and the offset added to its port numbers."""

    system: Annotated[str, AfterValidator(_unicast)] = SYSTEM
    port_offset: Annotated[int, Field(ge=0, le=65280)]

    @property
    def identity(self) -> TorIdentity:
        """Identity as the controller of a ToR takes it."""
        return TorIdentity(self.system, self.port_offset)


def _known_scheduler(name: str) -> str:
    """Return the name of a scheduler that a run can have; ValueError names close matches, or all."""
    known = ("none", "crux", "shortest-first", *schedulers.names()[len(schedulers.SCHEDULERS) :])
    if name in known or is_reference(name):
        return name
    raise ValueError(f"{name!r} is not known; {suggestion(name, known)}")


@final
class Control(Model):
    """Controllers of a variant.

    Attributes:
        processing_us: Time from a message to the table writes that it causes.
        repeat_us: Time after which a notice goes again unless it is acknowledged; null sends notices once.
        hello_us: Time between two hellos of a link; None sends none.
        hello_multiplier: Hellos in a row that must be missing, or arrive, to change the state of a link.
        lacp_us: Time between two LACPDUs of a NIC port; None sends none.
        lacp_multiplier: LACPDUs in a row that must be missing for a port to leave its bundle.
        lacp_tors: Identities that the two ToRs of a set announce in their LACPDUs.
        lanes_us: Time for which a lane that moves to another dimension at a job's start carries nothing;
            None takes 1 us.
        migrate_us: Time that a spare needs to take the place of a failed node.
        circuits: Static circuits, or circuits allocated for the running jobs.
        scheduler: Priorities as given, or chosen by a scheduler that measures each job.
        drain_us: Time between the routes leaving a circuit and the circuit going dark.
        hash: Bits of a flow's hash that switches use: other bits on each tier, or identical bits.
    """

    processing_us: NotNegative = 5.0
    repeat_us: Positive | None = 20.0
    hello_us: Positive | None = None
    hello_multiplier: Annotated[int, Field(ge=2, le=255)] = 3
    lacp_us: Positive | None = None
    lacp_multiplier: Annotated[int, Field(ge=2, le=255)] = 3
    lacp_tors: tuple[LacpTor, LacpTor] | None = None
    # Left out of the input's hash unless given, so that the hash of older scenarios stays.
    lanes_us: Annotated[float | None, Field(ge=0, le=10_000, exclude_if=lambda value: value is None)] = None
    migrate_us: Annotated[float, Field(ge=0, le=10_000)] = 10.0
    circuits: Literal["static", "per-job"] = "static"
    scheduler: Annotated[str, AfterValidator(_known_scheduler)] = "none"
    drain_us: Annotated[float, Field(ge=0, le=10_000)] = 10.0
    hash: Literal["per-tier", "identical"] = "per-tier"

    @property
    def tor_identities(self) -> tuple[TorIdentity, ...]:
        """Identities of the ToRs of a set."""
        return tuple(tor.identity for tor in self.lacp_tors) if self.lacp_tors else TOR_IDENTITIES
