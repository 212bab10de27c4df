"""Errors of the floor `harness`; `topologies.errors` draws the tree of all errors."""

from collections.abc import Iterable
from typing import ClassVar

from topologies.errors import RailyardError

__all__ = [
    "FormatError",
    "LabError",
    "MissingProgramError",
    "ModelError",
    "OutputError",
    "RecordingError",
    "ScenarioError",
]


class ScenarioError(RailyardError):
    """A scenario file cannot be run; every line of the message starts with FILE:LINE."""

    @classmethod
    def joined(cls, errors: Iterable[str]) -> "ScenarioError":
        """Return a single error with one line for each message in `errors`."""
        return cls("\n".join(errors))


class OutputError(RailyardError):
    """A file or folder for results cannot be created or written."""

    of_machine: ClassVar[bool] = True


class RecordingError(RailyardError):
    """A recording of a run cannot be read."""


class ModelError(RailyardError):
    """A closed-form model does not cover the given parameters."""


class LabError(RailyardError):
    """A lab does not exist, or a folder is not a student's working folder of a lab."""


class MissingProgramError(LabError):
    """A program needed by a lab is not installed on this machine."""

    of_machine: ClassVar[bool] = True


class FormatError(RailyardError):
    """A file of another tool cannot be read; the message starts with FILE:LINE."""
