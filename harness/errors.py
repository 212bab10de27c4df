"""Errors of the lab floor; `topologies.errors` draws the whole tree."""

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
    """Scenario file that cannot be run; every line of the message starts with FILE:LINE."""

    @classmethod
    def joined(cls, errors: Iterable[str]) -> "ScenarioError":
        """Return one error for several lines."""
        return cls("\n".join(errors))


class OutputError(RailyardError):
    """Place for results that cannot be written."""

    of_machine: ClassVar[bool] = True


class RecordingError(RailyardError):
    """Recording that cannot be read."""


class ModelError(RailyardError):
    """Parameters that a closed-form model does not cover."""


class LabError(RailyardError):
    """Lab that does not exist, or a folder that is no student's folder of a lab."""


class MissingProgramError(LabError):
    """Program that a lab needs and this machine lacks."""

    of_machine: ClassVar[bool] = True


class FormatError(RailyardError):
    """File of another tool that cannot be read; the message starts with FILE:LINE."""
