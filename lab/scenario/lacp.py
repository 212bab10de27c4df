# SPDX-License-Identifier: Apache-2.0
"""Identities that ToRs announce by LACP, as a scenario gives them."""

from __future__ import annotations

import re
from typing import Annotated, final

from pydantic import AfterValidator, Field

from controller.recovery.lacp import SYSTEM, TorIdentity
from lab.scenario.topology import Model

__all__ = ["LacpTor"]


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
