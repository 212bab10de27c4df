# SPDX-License-Identifier: Apache-2.0
"""Base class of objects started and stopped by a `with` block."""

from abc import ABC, abstractmethod
from typing import Self

__all__ = ["Lifetime"]


class Lifetime(ABC):
    """Base of objects started and stopped by a `with` block."""

    @abstractmethod
    def start(self) -> None:
        """Start; an implementation that fails stops itself first, since `with` does not."""

    @abstractmethod
    def stop(self) -> None:
        """Stop, and remove everything set up by start()."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
