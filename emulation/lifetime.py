# SPDX-License-Identifier: Apache-2.0
"""Things that start and stop, as context managers."""

from abc import ABC, abstractmethod
from typing import Self

__all__ = ["Lifetime"]


class Lifetime(ABC):
    """A thing that `with` starts and stops."""

    @abstractmethod
    def start(self) -> None:
        """Start; the thing is stopped if this fails."""

    @abstractmethod
    def stop(self) -> None:
        """Stop, and remove all that was started."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
