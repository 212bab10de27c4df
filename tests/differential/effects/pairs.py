# SPDX-License-Identifier: Apache-2.0
"""Pairs of effects on one frame in one control, counted from the log messages of a program.

A program logs "begin ingress" or "begin egress" first in a control, and "effect NAME" with each effect, or
"effect NAME in table" in an action of a table. The engine passes its log messages on in the order in which a
frame executes them.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from typing import final

__all__ = ["EFFECTS", "EffectPairs", "begin", "effect"]

EFFECTS = {
    "ingress": ("truncate", "clone", "resubmit", "multicast", "digest", "drop"),
    "egress": ("truncate", "clone", "recirculate", "multicast", "drop"),
}
"""Effects by the control in which v1model supports them; a multicast group of egress has no effect."""

_BEGIN, _EFFECT, _IN_TABLE = "begin ", "effect ", " in table"
_PLACES = ("apply", "table")


def begin(control: str) -> str:
    """Return the P4 statement that a control of EFFECTS begins with."""
    assert control in EFFECTS
    return f'log_msg("{_BEGIN}{control}");\n'


def effect(name: str) -> str:
    """Return the P4 statement that stands in front of an effect."""
    return f'log_msg("{_EFFECT}{name}");\n'


@final
class EffectPairs:
    """Counts of two effects that met in one pass of a control.

    `counts` is by control, first and second effect; `places` by control and where first and second effect
    stand: "apply" or "table".
    """

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str, str]] = Counter()
        self.places: Counter[tuple[str, str, str]] = Counter()
        self._control = ""
        self._seen: list[tuple[str, str]] = []

    def log(self, text: str) -> None:
        """Take the next log message of the program; other messages than those above are ignored."""
        if text.startswith(_BEGIN):
            self.finish()
            self._control = text.removeprefix(_BEGIN)
        elif text.startswith(_EFFECT):
            name = text.removeprefix(_EFFECT).removesuffix(_IN_TABLE)
            self._seen.append((name, _PLACES[text.endswith(_IN_TABLE)]))

    def finish(self) -> None:
        """Count the pairs of the last pass: no message of it follows."""
        pairs = [*combinations(self._seen, 2)]
        for position, counts in enumerate((self.counts, self.places)):
            met = {(first[position], second[position]) for first, second in pairs}
            counts.update((self._control, *pair) for pair in met)
        self._seen.clear()

    @property
    def missing(self) -> list[tuple[str, str, str]]:
        """Pairs of EFFECTS that never met, in either order."""
        return [
            (control, first, second)
            for control, names in EFFECTS.items()
            for first in names
            for second in names
            if not self.counts[control, first, second]
        ]

    def table(self) -> Iterator[str]:
        """Yield the lines of Markdown tables of `counts` and `places`.

        First effects stand in the rows, second ones in the columns.
        """
        for counts in (self.counts, self.places):
            for control, effects in EFFECTS.items():
                names = effects if counts is self.counts else _PLACES
                yield f"| {control}, first \\ second | {' | '.join(names)} |"
                yield "|---" * (len(names) + 1) + "|"
                for first in names:
                    cells = (f"{counts[control, first, second]:,}" for second in names)
                    yield f"| {first} | {' | '.join(cells)} |"
                yield ""
