# SPDX-License-Identifier: Apache-2.0
"""Reactions of node controllers, and their causes."""

from dataclasses import dataclass
from typing import Literal, final

__all__ = ["Activity", "Learns", "News"]

Learns = Literal["by itself", "by a notice", "by a request", "by silence", "by a controller"]
"""Ways in which a node learns of a fault.

By itself: at its own port. By a notice of another node. By a request: another node's subscription to the
link. By silence: its agent hears nothing over a path. By a controller: of takeovers or of circuits.
"""


@final
@dataclass(frozen=True, slots=True)
class News:
    """An event, and how the controller of a node learned of it.

    Attributes:
        learns: How the node learned of the event.
        learned_ps: Time at which the node learned of the event.
        link: Name of the link concerned; None if the event names no link.
        up: Whether that link is usable now.
        teller: Node that sent the notice or the request; None without a message.
    """

    learns: Learns
    learned_ps: int
    link: str | None = None
    up: bool = False
    teller: str | None = None


@final
@dataclass(frozen=True, slots=True)
class Activity:
    """A reaction of a node's controller: `count` table entries rewritten, or messages sent, at `at_ps`."""

    kind: Literal["rewrite", "notice"]
    node: str
    at_ps: int
    count: int
    news: News
