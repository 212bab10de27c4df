# SPDX-License-Identifier: Apache-2.0
"""Handles of operations in progress (`dist.Work`); waiting for them takes virtual time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, final

import torch
import torch.distributed as dist
from torch.futures import Future

from railyard.torch.elements import plain
from railyard.torch.process import RankProcess

__all__ = ["Done", "FabricWork"]

Outcome = tuple[bytes, int]
"""Result of an operation, and the group rank of a receive's sender."""


class _WaitingFuture(Future):  # type: ignore[misc,type-arg]
    """Future that calls `fetch` for its value when a caller waits for it."""

    def __init__(self, fetch: Callable[[], object]) -> None:
        super().__init__()
        self._fetch = fetch

    def wait(self) -> Any:
        """Wait in virtual time, and return the value."""
        if not self.done():
            self._fetch()
        return super().wait()

    def then(self, callback: Callable[[Any], Any]) -> Any:
        """Return a future of `callback(future)`, called when this future has a value."""
        chained = _WaitingFuture(self.wait)

        def carry_out(future: Any) -> None:
            try:
                value = callback(future)
            except Exception as error:
                chained.set_exception(error)
            else:
                chained.set_result(value)

        self.add_done_callback(carry_out)
        return chained


@final
class FabricWork(dist.Work):  # type: ignore[misc]
    """Handle of operation `number` of a rank's process on the fabric.

    `finish` writes the result of the operation into `tensors`, which are the value of the future.
    """

    def __init__(
        self,
        process: RankProcess,
        number: int,
        timeout: timedelta,
        tensors: Sequence[torch.Tensor],
        finish: Callable[[bytes], None],
    ) -> None:
        super().__init__()
        self._process, self._number = process, number
        self._timeout, self._tensors, self._finish = timeout, list(tensors), finish
        self._future: _WaitingFuture | None = None
        self._ended = False
        self._error: Exception | None = None
        self._source = -1

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait until the tensors have the result.

        Raises:
            DistBackendError: The operation has failed; the message names the rank that caused it.
        """
        if not self._ended:
            self._fetch(timeout or self._timeout)
        if self._error is not None:
            raise self._error
        return True

    def synchronize(self) -> None:
        """Wait until the tensors have the result."""
        self.wait()

    def is_completed(self) -> bool:
        """Return whether the operation has ended; each call takes virtual time."""
        if not self._ended and self._process.ended(self._number):
            self._fetch(self._timeout)
        return self._ended

    def is_success(self) -> bool:
        """Return whether the operation has ended without an error."""
        return self._ended and self._error is None

    def exception(self) -> Exception | None:
        """Return the error of a failed operation, else None."""
        return self._error

    def source_rank(self) -> int:
        """Return the group rank of the sender for a receive that has ended, else -1."""
        return self._source

    _source_rank = source_rank

    def result(self) -> list[torch.Tensor]:
        """Wait for the result, and return the tensors."""
        self.wait()
        return self._tensors

    def get_future(self) -> Any:
        """Return a future of the tensors.

        PyTorch's C++ code waits for a future without calling `wait` of this class. In a backward pass, a
        callback at the end of the pass therefore waits for the operation, before later callbacks of PyTorch.
        """
        if self._future is None:
            self._future = _WaitingFuture(self.wait)
            if self._ended:
                self._settle()
            else:
                _at_end_of_backward(self.wait)
        return self._future

    def _fetch(self, timeout: timedelta) -> None:
        try:
            data, self._source = self._process.wait(self._number, round(timeout.total_seconds() * 10**12))
            with plain():
                self._finish(data)
        except RuntimeError as error:
            self._error = dist.DistBackendError(f"railyard: {error}")
        self._ended = True
        self._settle()

    def _settle(self) -> None:
        # The future of a failed operation gets no value; `wait` raises the error.
        if self._future is not None and self._error is None:
            self._future.set_result(self._tensors)


@final
class Done(dist.Work):  # type: ignore[misc]
    """Handle of the operations `works`; without operations, the handle is already complete."""

    def __init__(self, tensors: Sequence[torch.Tensor], works: Sequence[dist.Work] = ()) -> None:
        super().__init__()
        self._tensors, self._works = list(tensors), works
        self._future: _WaitingFuture | None = None

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait for all operations."""
        for work in self._works:
            work.wait(timeout)
        if self._future is not None and not self._future.done():
            self._future.set_result(self._tensors)
        return True

    def synchronize(self) -> None:
        """Wait for all operations."""
        self.wait()

    def is_completed(self) -> bool:
        """Return whether all operations have ended."""
        return all(work.is_completed() for work in self._works)

    def is_success(self) -> bool:
        """Return whether all operations have ended without an error."""
        return all(work.is_success() for work in self._works)

    def result(self) -> list[torch.Tensor]:
        """Wait for all operations, and return their tensors."""
        self.wait()
        return self._tensors

    def get_future(self) -> Any:
        """Return a future of the tensors of all operations."""
        if self._future is None:
            self._future = _WaitingFuture(self.wait)
            if self._works:
                _at_end_of_backward(self.wait)
            else:
                self._future.set_result(self._tensors)
        return self._future


def _at_end_of_backward(call: Callable[[], object]) -> None:
    with suppress(RuntimeError):  # `queue_callback` raises it outside a backward pass
        torch.autograd.Variable._execution_engine.queue_callback(call)
