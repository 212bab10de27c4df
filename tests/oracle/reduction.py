# SPDX-License-Identifier: Apache-2.0
"""The unit of an NPU that reduces: its time, its SRAM, the memory traffic that it causes."""

from typing import final

from emulation.traffic.host.reduction import Reduction, ReductionStats

__all__ = ["ReductionUnit"]


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
