# SPDX-License-Identifier: Apache-2.0
"""Rate limit of notifications about the primary to the clients of one (device, role).

Every change of primary concerns every client (P4Runtime specification, "Arbitration Updates"): n clients that
enter one after the other, each with a higher election id, cause n² / 2 notifications. A client that only
watches needs the latest state, not every state before it.
"""

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar, final

__all__ = ["SECONDS_A_CLIENT", "Advisories"]

Client = TypeVar("Client", bound=Hashable)

SECONDS_A_CLIENT = 0.0005
"""Seconds per notified client: after a round to n clients, the next round waits n times as long."""


@final
class Advisories(Generic[Client]):
    """Schedule of notifications: clients to notify now, and clients to notify later.

    The caller keeps the time and sends the messages.
    """

    __slots__ = ("_held_until", "_waiting")

    def __init__(self) -> None:
        self._held_until = 0.0
        self._waiting: dict[Client, None] = {}  # in the order in which they are to be notified

    def change(self, clients: Iterable[Client], now: float, at_once: Iterable[Client]) -> list[Client]:
        """Return the clients to notify now of a change concerning `clients`, in their order.

        Clients of `at_once` are always notified now. While the previous round delays the next round, the
        rest of `clients` is put off until `deadline`.
        """
        told = list(clients)
        if now < self._held_until:
            urgent = frozenset(at_once)
            self._waiting.update(dict.fromkeys(client for client in told if client not in urgent))
            told = [client for client in told if client in urgent]
        else:
            self._held_until = now + len(told) * SECONDS_A_CLIENT
        for client in told:
            self._waiting.pop(client, None)
        return told

    def leave(self, client: Client) -> None:
        """Forget a client."""
        self._waiting.pop(client, None)

    @property
    def deadline(self) -> float | None:
        """Time for calling `due` for the waiting clients; None if no client waits."""
        return self._held_until if self._waiting else None

    def due(self, now: float) -> list[Client]:
        """Remove and return the waiting clients, for the caller to notify of the present state."""
        told = list(self._waiting)
        self._waiting.clear()
        self._held_until = now + len(told) * SECONDS_A_CLIENT
        return told
