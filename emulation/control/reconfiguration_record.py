# SPDX-License-Identifier: Apache-2.0
"""Record of a completed change of circuits, for results."""

from collections.abc import Set
from dataclasses import asdict, dataclass
from typing import Any, Self, final

from controller.circuits.transition import CircuitShortage
from topologies import Fabric

__all__ = ["ReconfigurationRecord"]


@final
@dataclass(frozen=True, slots=True)
class ReconfigurationRecord:
    """A completed change of circuits; it may have moved no circuit.

    Attributes:
        at_ps: Begin of the change.
        stands_ps: Time from which routes use the new circuits.
        kept: Circuits that did not change, by link name.
        torn: Circuits that were torn down.
        created: Circuits that were set up.
        before: Fabric before the change.
        after: Fabric after the change.
        hitless: True if routes led around every circuit while it moved.
        updates: Number of table entries written.
        why: Cause in words.
        dark: Circuits without light after the change.
        lacks: Jobs with fewer circuits than fault-free ports would give them.
    """

    at_ps: int
    stands_ps: int
    kept: tuple[str, ...]
    torn: tuple[str, ...]
    created: tuple[str, ...]
    before: Fabric
    after: Fabric
    hitless: bool
    updates: int
    why: str = ""
    dark: tuple[str, ...] = ()
    lacks: tuple[CircuitShortage, ...] = ()

    @classmethod
    def of(cls, before: Fabric, after: Fabric, down: Set[str], **what: Any) -> Self:
        """Return the record of a change; links in `down` are dark, `what` has all further fields."""
        old, new = _circuits(before), _circuits(after)
        stood, stands = set(old), set(new)
        return cls(
            kept=tuple(name for name in old if name in stands),
            torn=tuple(name for name in old if name not in stands),
            created=tuple(name for name in new if name not in stood),
            dark=tuple(name for name in new if name in down),
            before=before,
            after=after,
            **what,
        )

    def document(self) -> dict[str, Any]:
        """Return plain values for a result file."""
        return {
            "at_us": self.at_ps / 10**6,
            "stands_us": self.stands_ps / 10**6,
            "why": self.why,
            "kept": list(self.kept),
            "torn": list(self.torn),
            "made": list(self.created),
            "dark": list(self.dark),
            "lacks": [asdict(lack) for lack in self.lacks],
            "hitless": self.hitless,
            "updates": self.updates,
        }


def _circuits(fabric: Fabric) -> tuple[str, ...]:
    fibres = {end for switch in fabric.optical for end in switch.ends}
    return tuple(link.name for link in fabric.links if link.a in fibres)
