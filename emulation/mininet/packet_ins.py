# SPDX-License-Identifier: Apache-2.0
"""Queue of nodes with packet-ins for the testbed to handle, filled by threads of P4Runtime clients."""

import os
from collections import deque
from collections.abc import Iterator
from typing import final

__all__ = ["PacketIns"]


@final
class PacketIns:
    """A queue of nodes with packet-ins; between open() and close() select() can wait for it."""

    def __init__(self) -> None:
        self._nodes: deque[str] = deque()
        self._wake = -1

    def open(self) -> None:
        """Make the descriptor to select on."""
        self._wake = os.eventfd(0, os.EFD_NONBLOCK)

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self._wake)

    def fileno(self) -> int:
        """Return the descriptor; it is readable while the queue has nodes."""
        return self._wake

    def arrived(self, node: str) -> None:
        """Note a packet-in; any thread may call it."""
        self._nodes.append(node)
        os.eventfd_write(self._wake, 1)

    def take(self) -> Iterator[str]:
        """Remove and yield all nodes in the queue, in order of arrival."""
        os.eventfd_read(self._wake)
        while self._nodes:
            yield self._nodes.popleft()
