# SPDX-License-Identifier: Apache-2.0
"""Who is primary: client arbitration of one (device, role) (P4Runtime specification, section 5)."""

from collections.abc import Hashable
from typing import Generic, TypeVar, final

from finsy.proto import rpc_code

from emulation.p4runtime.status import Refusal

__all__ = ["Arbitration"]

Client = TypeVar("Client", bound=Hashable)


@final
class Arbitration(Generic[Client]):
    """Election ids of the live clients of one (device, role). Sends nothing: returns whom to notify."""

    __slots__ = ("_elections", "highest", "primary")

    def __init__(self) -> None:
        self._elections: dict[Client, int | None] = {}
        self.highest: int | None = None
        self.primary: Client | None = None

    def update(self, client: Client, election_id: int | None) -> list[Client]:
        """Enter or re-enter with an election id (None: only ever a backup).

        All are told of whoever becomes or stays primary, the primary last; of a backup's update only itself.
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
        """The client's stream has ended."""
        if self._elections.pop(client, self) is self:
            return []
        if self.primary is not client:
            return []
        self.primary = None
        return list(self._elections)

    def standing(self, client: Client) -> int:
        """OK for the primary; ALREADY_EXISTS while another is; NOT_FOUND while nobody is."""
        if self.primary is client:
            return rpc_code.OK
        return rpc_code.NOT_FOUND if self.primary is None else rpc_code.ALREADY_EXISTS

    def is_primary(self, election_id: int | None) -> bool:
        """Whether a request that carries this election id comes from the primary."""
        return self.primary is not None and election_id is not None and election_id == self.highest
