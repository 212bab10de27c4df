# SPDX-License-Identifier: Apache-2.0
"""Comparison of the clocks of several machines, before and after a run, and conversion of times."""

from collections.abc import Mapping
from typing import final

from emulation.mininet.cluster.session import ClockOffset
from emulation.mininet.cluster.sessions import Sessions

__all__ = ["Clocks"]


@final
class Clocks:
    """Offsets of all machines' clocks from this machine's, as compared at construction."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self.offsets: Mapping[str, ClockOffset] = _compared(sessions)
        self._later = self.offsets
        self.late_ns = 0
        """Most nanoseconds by which an order to begin reached a machine after its start time."""

    def compare_again(self) -> None:
        """Compare again, for `error_ns`: a clock may run faster or slower than this machine's."""
        self._later = _compared(self._sessions)

    def at(self, machine: str, own_ns: int) -> int:
        """Convert a monotonic time in ns from this machine's clock to another machine's."""
        return own_ns + self.offsets[machine].monotonic_ns

    def own(self, machine: str, its_ns: int) -> int:
        """Convert `its_ns`, a monotonic time of another machine in ns, to the clock of this machine."""
        return its_ns - self.offsets[machine].monotonic_ns

    def arrived(self, late_ns: int) -> None:
        """Note that an order to begin reached a machine `late_ns` after its start time; 0: in time."""
        self.late_ns = max(self.late_ns, late_ns)

    @property
    def error_ns(self) -> int:
        """Bound of the error of converted times, in ns, from both comparisons."""
        return max(
            abs(later.monotonic_ns - first.monotonic_ns) + first.within_ns + later.within_ns
            for first, later in ((self.offsets[name], self._later[name]) for name in self.offsets)
        )

    def notes(self) -> list[str]:
        """Return sentences about the comparison, for the notes of a run."""
        told = ", ".join(
            f"{name} {offset.wall_ns / 1e6:+.3f} ms within {offset.within_ns / 1e6:.3f} ms"
            for name, offset in self.offsets.items()
        )
        notes = [
            f"wall clocks beside the controlling machine's: {told}",
            f"agents of all machines began at the same time within {self.error_ns / 1e6:.3f} ms",
        ]
        if self.late_ns:
            notes.append(f"an order to begin arrived {self.late_ns / 1e6:.3f} ms late")
        return notes


def _compared(sessions: Sessions) -> Mapping[str, ClockOffset]:
    return {name: session.clock() for name, session in sessions.items()}
