# SPDX-License-Identifier: Apache-2.0
"""An asyncio event loop in a thread of its own, for synchronous code.

A process has one such loop. The loop is never closed, because gRPC would still wake it. gRPC's poller is kept
open too: otherwise it closes with the last channel, and gRPC still reads from it.
"""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from functools import cache
from typing import Any, TypeVar

import grpc

__all__ = ["background_loop", "run", "submit"]

_T = TypeVar("_T")


_starting = threading.Lock()


def background_loop() -> asyncio.AbstractEventLoop:
    """Return the process's loop; its thread starts with the first call and ends with the process."""
    with _starting:  # `cache` alone would give two concurrent first callers a loop each
        return _started()


@cache
def _started() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="railyard-grpc", daemon=True).start()
    asyncio.run_coroutine_threadsafe(_hold_poller(), loop).result()
    return loop


async def _hold_poller() -> None:
    grpc.aio.init_grpc_aio()  # pyright: ignore[reportAttributeAccessIssue]  (public, but not in the stubs)


def submit(coroutine: Coroutine[Any, Any, _T]) -> Future[_T]:
    """Start a coroutine on the loop, and return the future of its result."""
    return asyncio.run_coroutine_threadsafe(coroutine, background_loop())


def run(coroutine: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine on the loop and return its result; a call on the loop itself would block forever."""
    return submit(coroutine).result()
