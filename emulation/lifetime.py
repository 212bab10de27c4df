# SPDX-License-Identifier: Apache-2.0
"""Base of objects that start and stop as context managers."""

from abc import ABC, abstractmethod
from typing import Self

__all__ = ["Lifetime"]


class Lifetime(ABC):
    """Base of objects that a `with` block starts and stops."""

    @abstractmethod
    def start(self) -> None:
        """Start; an implementation that fails stops itself first, since `with` does not."""

    @abstractmethod
    def stop(self) -> None:
        """Stop, and remove everything that start() has set up."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
