# SPDX-License-Identifier: Apache-2.0
"""Figures that LumosCore's authors published: planning times, completion times of jobs.

Planning times are those they plot (cal_overhead.py of their released code),
in clusters of 2k to 32k NPUs. The
authors give the number of NPUs only; that a Pod has 128 of them is read off comments in their code.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import final

__all__ = ["AUTHORS", "AUTHORS_EXACT", "NPUS_A_POD", "PODS", "TARGET", "Change"]

NPUS_A_POD = 128
PODS = (16, 32, 64, 128, 256)

# Seconds for clusters of that many Pods.
AUTHORS: Mapping[int, float] = dict(zip(PODS, (0.042, 0.581, 2.773, 15.213, 45.8), strict=True))
AUTHORS_EXACT: Mapping[int, float] = dict(zip(PODS, (2.842, 28.581, 147.773, 684.213, 3298.0), strict=True))
TARGET = 0.1  # of these


@final
class Change(StrEnum):
    """Jobs have nine tenths of all ports; where none is spare, what they leave over is asked for too."""

    job = "one job goes, another comes"
    first = "all circuits, from nothing"
    replaced = "an unrelated demand"
    full = "one job goes, another comes, no port spare"
