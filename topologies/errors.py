# SPDX-License-Identifier: Apache-2.0
"""The root of the error tree.

RailyardError
├── TopologyError                   a fabric that cannot be built, found or read
├── controller.errors               PlanError > DeadlockError, InstallError
├── emulation.errors                EmulationError > ProgramError, FrameError, GraphError, TestbedError
└── harness.errors                      ScenarioError, OutputError, RecordingError, ModelError, LabError,
                                    FormatError
"""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import ClassVar

__all__ = ["RailyardError", "TopologyError", "suggestion"]


class RailyardError(Exception):
    """Root of the error tree: a message that names the faulty object and its value, and a `remedy`.

    `of_machine` is True if the input is valid and the machine is at fault: its disk, ports or memory.
    """

    of_machine: ClassVar[bool] = False

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message}; {self.remedy}" if self.remedy else self.message


class TopologyError(RailyardError):
    """A fabric that cannot be built, found or read."""


def suggestion(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return the remedy for an unknown name.

    Args:
        name: the name as it was given.
        known: names that exist.
        otherwise: remedy if no name is close; if empty, the remedy lists all known names alphabetically.
    """
    names = list(known)
    close = get_close_matches(name, names, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    return otherwise or f"known are {', '.join(sorted(names))}"
