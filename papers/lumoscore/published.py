# SPDX-License-Identifier: Apache-2.0
"""Planning times published by LumosCore's authors, for clusters of 2k to 32k NPUs.

The times are from the plot script of their released code (cal_overhead.py). The authors give the number of
NPUs only; the 128 NPUs of a Pod are from comments in their code.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import final

__all__ = ["AUTHORS", "AUTHORS_EXACT", "NPUS_A_POD", "PODS", "TARGET", "Change"]

NPUS_A_POD = 128
PODS = (16, 32, 64, 128, 256)

# Planning time in seconds, by number of Pods; LumosCore, and the exact program.
AUTHORS: Mapping[int, float] = dict(zip(PODS, (0.042, 0.581, 2.773, 15.213, 45.8), strict=True))
AUTHORS_EXACT: Mapping[int, float] = dict(zip(PODS, (2.842, 28.581, 147.773, 684.213, 3298.0), strict=True))
TARGET = 0.1  # target planning time, as a share of AUTHORS


@final
class Change(StrEnum):
    """Kinds of changes of demand. In `full`, jobs use all ports; in all other kinds, nine tenths of them."""

    job = "one job goes, another comes"
    first = "all circuits, from nothing"
    replaced = "an unrelated demand"
    full = "one job goes, another comes, no port spare"
