# SPDX-License-Identifier: Apache-2.0
"""An asyncio event loop in a thread of its own, for code that is not asynchronous itself."""

import asyncio
import threading
import traceback
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar, final

__all__ = ["LoopThread"]

_T = TypeVar("_T")


@final
class LoopThread:
    """Runs coroutines until it is closed. Its methods may be called from any other thread."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self.loop.set_exception_handler(_report)
        self._thread = threading.Thread(target=self.loop.run_forever, name=name, daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        """Whether it has not been closed."""
        return self._thread.is_alive()

    def submit(self, coroutine: Coroutine[Any, Any, _T]) -> Future[_T]:
        """Start a coroutine."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop)

    def run(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        """Run a coroutine and wait for its result."""
        return self.submit(coroutine).result()

    def close(self) -> None:
        """End the loop and the thread. Calling it again does nothing."""
        if self._thread.is_alive():
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join()
            self.loop.close()


def _report(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """What went wrong in a callback, unless it is gRPC's own wake-up.

    gRPC wakes all loops of a process for the events of each. One that comes late finds nothing to read any
    more, or, when the last channel has closed, nothing to read from; gRPC leaves that error to the loop.
    """
    error = context.get("exception")
    if isinstance(error, OSError):
        frames = traceback.extract_tb(error.__traceback__)
        if frames and frames[-1].name.endswith("PollerCompletionQueue._handle_events"):
            return
    loop.default_exception_handler(context)
