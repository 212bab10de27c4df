# SPDX-License-Identifier: Apache-2.0
"""Choices that several verbs offer."""

from enum import StrEnum

__all__ = ["Bed", "Switch"]


class Bed(StrEnum):
    """Testbeds."""

    embedded = "embedded"
    mininet = "mininet"


class Switch(StrEnum):
    """Switches of the Mininet testbed."""

    builtin = "builtin"
    bmv2 = "bmv2"
