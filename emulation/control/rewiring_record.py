# SPDX-License-Identifier: Apache-2.0
"""What a change of circuits was, as a value."""

from collections.abc import Set
from dataclasses import asdict, dataclass
from typing import Any, Self, final

from controller.circuits.transition import Lack
from topologies import Fabric

__all__ = ["RewiringRecord"]


@final
@dataclass(frozen=True, slots=True)
class RewiringRecord:
    """A change of circuits from `at_ps` to `stands_ps`, when routes used the new ones; names of links.

    `why` it was made, in words; it may have found nothing to move. `before` and `after` are all circuits that
    were joined, of which those in `dark` carried no light afterwards. `hitless`: there was a way around what
    moved. `lacks`: who had fewer circuits then than ports that all work would have given it.
    """

    at_ps: int
    stands_ps: int
    kept: tuple[str, ...]
    torn: tuple[str, ...]
    made: tuple[str, ...]
    before: Fabric
    after: Fabric
    hitless: bool
    updates: int
    why: str = ""
    dark: tuple[str, ...] = ()
    lacks: tuple[Lack, ...] = ()

    @classmethod
    def of(cls, before: Fabric, after: Fabric, down: Set[str], **what: Any) -> Self:
        """From one fabric's circuits to another's, of which those that are `down` carry none."""
        old, new = _circuits(before), _circuits(after)
        stood, stands = set(old), set(new)
        return cls(
            kept=tuple(name for name in old if name in stands),
            torn=tuple(name for name in old if name not in stands),
            made=tuple(name for name in new if name not in stood),
            dark=tuple(name for name in new if name in down),
            before=before,
            after=after,
            **what,
        )

    def document(self) -> dict[str, Any]:
        """For a file."""
        return {
            "at_us": self.at_ps / 10**6,
            "stands_us": self.stands_ps / 10**6,
            "why": self.why,
            "kept": list(self.kept),
            "torn": list(self.torn),
            "made": list(self.made),
            "dark": list(self.dark),
            "lacks": [asdict(one) for one in self.lacks],
            "hitless": self.hitless,
            "updates": self.updates,
        }


def _circuits(fabric: Fabric) -> tuple[str, ...]:
    fibres = {end for switch in fabric.optical for end in switch.ends}
    return tuple(link.name for link in fabric.links if link.a in fibres)
