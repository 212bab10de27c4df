# SPDX-License-Identifier: Apache-2.0
"""Client arbitration of one (device, role): election of its primary (P4Runtime specification, section 5)."""

from collections.abc import Hashable
from typing import Generic, TypeVar, final

from finsy.proto import rpc_code

from emulation.p4runtime.status import Refusal

__all__ = ["Arbitration"]

Client = TypeVar("Client", bound=Hashable)


@final
class Arbitration(Generic[Client]):
    """Election ids of the live clients of one (device, role); `highest` is the largest id ever primary."""

    __slots__ = ("_elections", "highest", "primary")

    def __init__(self) -> None:
        self._elections: dict[Client, int | None] = {}
        self.highest: int | None = None
        self.primary: Client | None = None

    def update(self, client: Client, election_id: int | None) -> list[Client]:
        """Set a client's election id (None: always a backup), and return the clients to notify.

        Returns all clients, the primary last, if this client becomes or stays primary; all clients if it
        gives up being primary; else this client only. Refusal if another live client uses the id.
        """
        if election_id is not None:
            for other, used in self._elections.items():
                if used == election_id and other is not client:
                    raise Refusal(
                        rpc_code.INVALID_ARGUMENT,
                        f"election id {election_id} is used by another live controller",
                    )
        self._elections[client] = election_id
        if election_id is not None and (self.highest is None or election_id >= self.highest):
            self.primary, self.highest = client, election_id
            return [*(other for other in self._elections if other is not client), client]
        if self.primary is client:
            self.primary = None
            return list(self._elections)
        return [client]

    def leave(self, client: Client) -> list[Client]:
        """Remove a client, and return the clients to notify: all others if it was primary, else none."""
        if self._elections.pop(client, self) is self:
            return []
        if self.primary is not client:
            return []
        self.primary = None
        return list(self._elections)

    def status(self, client: Client) -> int:
        """Return OK for the primary, ALREADY_EXISTS for a backup, NOT_FOUND if no client is primary."""
        if self.primary is client:
            return rpc_code.OK
        return rpc_code.NOT_FOUND if self.primary is None else rpc_code.ALREADY_EXISTS

    def is_primary(self, election_id: int | None) -> bool:
        """Return whether a request with this election id comes from the primary."""
        return self.primary is not None and election_id is not None and election_id == self.highest
