# SPDX-License-Identifier: Apache-2.0
"""What several verbs let people choose from."""

from enum import StrEnum

__all__ = ["Bed", "Switch"]


class Bed(StrEnum):
    """Testbeds."""

    embedded = "embedded"
    mininet = "mininet"


class Switch(StrEnum):
    """What carries frames on the Mininet testbed."""

    builtin = "builtin"
    bmv2 = "bmv2"
