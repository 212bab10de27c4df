# SPDX-License-Identifier: Apache-2.0
"""The root of the error tree.

RailyardError
├── TopologyError                   a fabric that cannot be built, found or read
├── controller.errors               PlanError > DeadlockError, InstallError
├── emulation.errors                EmulationError > ProgramError, FrameError, GraphError, TestbedError
└── lab.errors                      ScenarioError, OutputError, RecordingError, ModelError, LabError,
                                    FormatError
"""

from typing import ClassVar

__all__ = ["RailyardError", "TopologyError"]


class RailyardError(Exception):
    """Root of the error tree: a message that names the thing and its value, and a `remedy`.

    `of_machine` is True where the input is good and the machine is at fault: its disk, ports or memory.
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
