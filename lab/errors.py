"""Errors of the lab floor; `topologies.errors` draws the whole tree."""

from collections.abc import Iterable

from topologies.errors import RailyardError

__all__ = ["ModelError", "OutputError", "ScenarioError"]


class ScenarioError(RailyardError):
    """A scenario file that cannot be run; every line of the message starts with FILE:LINE."""

    @classmethod
    def joined(cls, errors: Iterable[str]) -> "ScenarioError":
        return cls("\n".join(errors))


class OutputError(RailyardError):
    """A place for results that cannot be written."""


class ModelError(RailyardError):
    """A closed-form model asked for what it does not cover."""
