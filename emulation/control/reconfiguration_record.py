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
    """A completed change of circuits: begun at `at_ps`, its new circuits in use by routes at `stands_ps`.

    `kept`, `torn`, `created` and `dark`, circuits without light afterwards, are link names; a change may have
    moved no circuit. `before` and `after` are the fabrics. `why` is the cause in words. `hitless`: routes led
    around every circuit that moved. `updates`: table entries written. `lacks`: jobs with fewer circuits than
    fault-free ports would give them.
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
        """Return the record of a change between fabrics; links in `down` are dark, `what`: other fields."""
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
