# SPDX-License-Identifier: Apache-2.0
"""Queue limits of lossy links and priority flow control, as the engine's QueuePolicy."""

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import final

from emulation._engine import QueuePolicy
from emulation.traffic.frames.values import SERVED_VLS, VL_RESPONSE

__all__ = ["PauseLimits", "QueueLimit", "queue_policy"]


@final
@dataclass(frozen=True, slots=True)
class QueueLimit:
    """Limits of a queue in bytes and in frames; 0 means no limit.

    A queue with `trims` removes the payload of a frame that does not fit. Any other queue drops the frame.
    """

    bytes: int = 0
    frames: int = 0
    trims: bool = False


@final
@dataclass(frozen=True, slots=True)
class PauseLimits:
    """Priority flow control of data: thresholds of a class in the receive buffer, and watchdog times in ps.

    A class is a lane of a service level. There are eight classes, so levels 5 to 7 share the classes of
    levels 0, 2 and 3.
    """

    xoff_bytes: int
    xon_bytes: int
    headroom_bytes: int
    watchdog_ps: int = 0
    restore_ps: int = 0


def queue_policy(limits: Mapping[str, QueueLimit], pauses: PauseLimits | None = None) -> QueuePolicy:
    """Return the engine's policy of queues, with priority flow control if `pauses` is given.

    `limits` may have the keys level-N, data (other levels) and response.
    """
    data = limits.get("data", QueueLimit())
    response = VL_RESPONSE // 2
    chosen = {response: limits.get("response", QueueLimit())}
    queues = []
    for vl in SERVED_VLS:
        level = vl // 2
        limit = chosen.get(level) or limits.get(f"level-{level}", data)
        queues.append((limit.bytes, limit.frames, limit.trims))
    lanes = sum(1 << lane for lane, vl in enumerate(SERVED_VLS) if vl // 2 != response)
    stops = None if pauses is None else (*astuple(pauses), lanes)
    return QueuePolicy(queues, [SERVED_VLS.index(VL_RESPONSE + lane) for lane in (0, 1)], stops)
