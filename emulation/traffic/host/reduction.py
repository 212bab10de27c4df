# SPDX-License-Identifier: Apache-2.0
"""Reduction on an NPU: by its cores, or by the collective co-processor (CCU) in its UB IO controller.

Source: UB-Mesh, appendix, "Collective communication co-processor": the CCU reads and writes HBM, starts
transfers and reduces in on-chip SRAM, without copies between application and communication buffers. Check
bits keep the order of reductions. The paper gives no rate and no SRAM size; both are parameters.

Memory traffic of a slice of S bytes, by event and model:

    both: a frame leaves            read S; a retransmission reads nothing
    core: first sends of a slice    read S, write S: a copy into the communication buffer
    core: a frame arrives           write S: into the communication buffer
    core: n frames are reduced      read (n + 1) S, write S; write S more if sends follow
    core: a frame is copied         read S, write S; write S more if sends follow
    CCU: n frames are reduced       read S, write S
    CCU: a frame is copied          write S
    CCU: a frame finds no SRAM      write S, read S

If the first frame of a sum finds no SRAM, the sum is in HBM too: each frame writes S for it, and each frame
but the first reads S.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final

from emulation.errors import check_ranges

__all__ = ["Reduction", "ReductionStats"]

_RANGES = {"rate_bps": (1, 10**15), "sram_bytes": (1, 1 << 40), "core_percent": (1, 100)}


@final
@dataclass(frozen=True, slots=True)
class Reduction:
    """Model of an NPU's reducer, and its capacity.

    Attributes:
        by: Reducer: the cores or the CCU.
        rate_bps: Rate at which the reducer processes received data, in bit/s; None for no limit.
        sram_bytes: SRAM of the CCU for frames and sums; None for no limit.
        core_percent: Percentage of the NPU's cores that is busy during a reduction by cores.
    """

    by: Literal["core", "ccu"]
    rate_bps: int | None = None
    sram_bytes: int | None = None
    core_percent: int = 100

    def __post_init__(self) -> None:
        check_ranges("reduction", self, _RANGES)


@final
@dataclass(frozen=True, slots=True)
class ReductionStats:
    """Counts of the reducers of one NPU or several: sums, but `sram_peak_bytes` is a maximum.

    `busy_ps` is the time in which the reducer worked; `core_ps` is `core_percent` of it, 0 for the CCU.
    `spilled_bytes` counts data that found no SRAM.
    """

    read_bytes: int = 0
    written_bytes: int = 0
    busy_ps: int = 0
    core_ps: int = 0
    sram_peak_bytes: int = 0
    spilled_bytes: int = 0

    def __add__(self, other: ReductionStats) -> ReductionStats:
        """Add the counts of another NPU, or of a later agent of the NPU."""
        return ReductionStats(
            self.read_bytes + other.read_bytes,
            self.written_bytes + other.written_bytes,
            self.busy_ps + other.busy_ps,
            self.core_ps + other.core_ps,
            max(self.sram_peak_bytes, other.sram_peak_bytes),
            self.spilled_bytes + other.spilled_bytes,
        )
