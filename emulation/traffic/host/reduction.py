# SPDX-License-Identifier: Apache-2.0
"""Reduction on an NPU: by its cores, or by the collective co-processor (CCU) in its UB IO controller.

Source: UB-Mesh, appendix, "Collective communication co-processor": the CCU reads and writes HBM, starts
transfers and reduces in on-chip SRAM, without copies between application and communication buffers, in an
order that check bits keep. The paper gives no rate and no size; both are parameters.

Memory traffic of a slice of S bytes, in either model:

    a frame leaves                  read S; a retransmission reads nothing
    core: first sends of a slice    read S, write S: a copy into the communication buffer
    core: a frame arrives           write S: into the communication buffer
    core: n frames are reduced      read (n + 1) S, write S; write S more if sends follow
    core: a frame is copied         read S, write S; write S more if sends follow
    CCU: n frames are reduced       read S, write S
    CCU: a frame is copied          write S
    CCU: a frame finds no SRAM      write S, read S; the sum as well, if its first frame did
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final

from emulation.errors import EmulationError

__all__ = ["Reduction", "ReductionStats", "ReductionUnit"]

_LIMITS = {"rate_bps": (1, 10**15), "sram_bytes": (1, 1 << 40), "core_percent": (1, 100)}


@final
@dataclass(frozen=True, slots=True)
class Reduction:
    """Reduction by cores or by the CCU, and its capacity.

    Attributes:
        by: The cores or the CCU.
        rate_bps: Received data that it takes in, in bit/s; None for no limit.
        sram_bytes: SRAM of the CCU for frames and sums; None for no limit.
        core_percent: Share of the NPU's cores that reduce while they do.
    """

    by: Literal["core", "ccu"]
    rate_bps: int | None = None
    sram_bytes: int | None = None
    core_percent: int = 100

    def __post_init__(self) -> None:
        for name, (low, high) in _LIMITS.items():
            value = getattr(self, name)
            if value is not None and not low <= value <= high:
                raise EmulationError(f"reduction: {name} {value}", remedy=f"use a value from {low} to {high}")


@final
@dataclass(frozen=True, slots=True)
class ReductionStats:
    """Counts of one NPU, or of several: sums, but `sram_peak_bytes` is a maximum.

    `busy_ps` is the time in which the unit worked, `core_ps` the time that the cores lost to it.
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


@final
class ReductionUnit:
    """The unit of an NPU that reduces, shared by all its agents; it does one task after the other."""

    __slots__ = (
        "_busy_ps",
        "_free_ps",
        "_peak",
        "_read",
        "_reduction",
        "_spilled",
        "_sram",
        "_written",
        "ccu",
    )

    def __init__(self, reduction: Reduction) -> None:
        self._reduction = reduction
        self.ccu = reduction.by == "ccu"
        self._free_ps = self._busy_ps = 0
        self._read = self._written = 0
        self._sram = self._peak = self._spilled = 0

    @property
    def core_ps(self) -> int:
        """Time that the cores have lost to tasks given to this unit so far."""
        return 0 if self.ccu else self._busy_ps * self._reduction.core_percent // 100

    @property
    def stats(self) -> ReductionStats:
        """Counts up to now."""
        return ReductionStats(
            self._read, self._written, self._busy_ps, self.core_ps, self._peak, self._spilled
        )

    def work(self, size: int, frames: int, now: int) -> int:
        """Take on a task of so many frames of `size` bytes; return the time at which it ends."""
        rate = self._reduction.rate_bps
        length = 0 if rate is None else frames * -(-size * 8 * 10**12 // rate)
        self._busy_ps += length
        self._free_ps = max(self._free_ps, now) + length
        return self._free_ps

    def memory(self, read: int, written: int) -> None:
        """Count bytes read from the NPU's memory and written to it."""
        self._read += read
        self._written += written

    def claim(self, size: int) -> bool:
        """Take SRAM for a frame; False, and the frame is written to memory, if too little is free."""
        most = self._reduction.sram_bytes
        if most is not None and self._sram + size > most:
            self._spilled += size
            self._written += size
            return False
        self._sram += size
        self._peak = max(self._peak, self._sram)
        return True

    def free(self, size: int) -> None:
        """Give back SRAM."""
        self._sram -= size
