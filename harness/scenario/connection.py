# SPDX-License-Identifier: Apache-2.0
"""`transport:` of a scenario: connections between NPUs, their windows and their congestion control."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self, final

from pydantic import BeforeValidator, Field, model_validator

from emulation.traffic.host.path_choice import LB_VALUES, Choose
from harness.scenario.topology import Model, NotNegative, Positive

__all__ = ["CONNECTIONS", "CongestionSettings", "ConnectionSettings", "Transport"]

# Number of connections of a pair of NPUs unless `count:` is given.
CONNECTIONS = 4


@final
class ConnectionSettings(Model):
    """Several connections for each pair of NPUs, each with its own path, and the choice among them.

    `count` is the number of connections of a pair. 0 means one for each disjoint path; None means
    CONNECTIONS, or with `paths: five-tuple` one for each port. `choose` names the connection of a message.
    """

    paths: Literal["search", "random", "five-tuple"] = "search"
    count: Annotated[int, Field(ge=0, le=256)] | None = None
    choose: Choose = "least-unfinished"

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.paths == "five-tuple" and self.count is not None:
            raise ValueError("`paths: five-tuple` makes one connection for each port; leave `count:` out")
        if self.paths == "random" and self.count == 0:
            raise ValueError(
                "`count: 0` means all disjoint paths, which `paths: random` does not compute; give a number "
                "from 1 to 256"
            )
        return self

    @property
    def most(self) -> int:
        """Largest number of connections of a pair of NPUs; 0 means all disjoint paths."""
        return CONNECTIONS if self.count is None else self.count


@final
class CongestionSettings(Model):
    """Congestion control of all connections.

    Attributes:
        algorithm: Name of an algorithm (docs/use/congestion.md), or FILE.py:NAME for the user's own.
        base_rtt_us: Round-trip time with empty queues; None computes it from the fabric.
        rate_gbps: Rate of a connection that shares no link; None takes the rate of its path's slowest link.
        params: Parameters of the algorithm, by name.
    """

    algorithm: str
    base_rtt_us: Positive | None = None
    rate_gbps: Positive | None = None
    params: Mapping[str, NotNegative] = Field(default_factory=dict)


@final
class Transport(Model):
    """Transport between NPUs; two NPUs have one connection in each direction unless `connections` is given.

    Without `congestion`, the window alone limits the unacknowledged frames of a connection. With `recovery:
    go-back-n` a lost frame and all frames after it are sent again, as in RoCE; frames keep one path. A
    spraying strategy spreads frames over `entropies` values of the header field lb, which switches hash to
    choose a path.
    """

    window: Annotated[int, Field(ge=1, le=1024)] = 64
    ack_every: Annotated[int, Field(ge=1, le=64)] = 16
    initial_rto_us: Positive = 100.0
    min_rto_us: Positive | None = None
    recovery: Annotated[
        Literal["selective", "go-back-n"], Field(exclude_if=lambda value: value == "selective")
    ] = "selective"
    connections: ConnectionSettings | None = None
    entropies: Annotated[
        Literal[1, 2, 4, 8, 16, 32, 64, 128, 256], Field(exclude_if=lambda value: value == LB_VALUES)
    ] = LB_VALUES
    congestion: Annotated[
        CongestionSettings | None,
        BeforeValidator(lambda value: {"algorithm": value} if isinstance(value, str) else value),
        Field(exclude_if=lambda value: value is None),
    ] = None
