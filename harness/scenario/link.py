# SPDX-License-Identifier: Apache-2.0
"""`link:` of a scenario: buffers and queues of links, failure detection, congestion marks, headers."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self, final

from pydantic import Field, model_validator

from controller.tables.congestion import Marking
from emulation.traffic.frames.values import NetworkHeader
from harness.scenario.topology import Model, NotNegative

__all__ = ["EcnSettings", "LinkSettings", "PfcSettings", "QueueSettings"]

QueueClass = Literal[
    "data", "response", "level-0", "level-2", "level-3", "level-4", "level-5", "level-6", "level-7"
]
"""Queues that have settings of their own: of a service level of data, of responses, or of all data."""


Depth = Annotated[int, Field(ge=1, lt=2**19)]
"""Frames in a queue."""


@final
class PfcSettings(Model):
    """Priority flow control (IEEE 802.1Qbb): a receive buffer lets the sender of a class stop and go on.

    Attributes:
        xoff_bytes: Bytes of a class in the buffer of a port above which the sender has to stop.
        xon_bytes: Bytes down to which it goes on; half of `xoff_bytes` by default.
        headroom_bytes: Room for what is on its way meanwhile; by default what the longest link needs.
        watchdog_us: Longest pause of a class; a longer one ends, and what waits is dropped. None: no limit.
        restore_us: Time after that in which the sender obeys no pause of the class.
    """

    xoff_bytes: Annotated[int, Field(ge=1)]
    xon_bytes: Annotated[int, Field(ge=0)] | None = None
    headroom_bytes: Annotated[int, Field(ge=0)] | None = None
    watchdog_us: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    restore_us: NotNegative = 0.0

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.xon > self.xoff_bytes:
            raise ValueError("`xon_bytes:` is at most `xoff_bytes:`")
        return self

    @property
    def xon(self) -> int:
        """Bytes down to which the sender goes on."""
        return self.xoff_bytes // 2 if self.xon_bytes is None else self.xon_bytes


@final
class QueueSettings(Model):
    """A queue of an output port, which drops at its tail what finds no room.

    Attributes:
        bytes: Bytes that may wait; None for no limit.
        frames: Frames that may wait; None for no limit.
        pfc: Pause the senders of data; only in the queues of all `data`.
        trim: Cut a data frame that finds no room behind its headers; the headers join the queue of responses.
    """

    bytes: Annotated[int, Field(ge=64)] | None = None
    frames: Annotated[int, Field(ge=1)] | None = None
    trim: bool = False
    pfc: PfcSettings | None = None

    @model_validator(mode="after")
    def _limited(self) -> Self:
        if self.bytes is None and self.frames is None and self.pfc is None:
            raise ValueError("a queue has a limit: give `bytes:`, `frames:` or `pfc:`")
        return self


@final
class EcnSettings(Model):
    """Congestion marks by two depths of a queue, in frames that wait behind a frame when it leaves.

    Attributes:
        first_frames: Depth from which some frames are marked.
        last_frames: Depth from which every frame is marked.
        percent: Probability of a mark just below the second depth; it grows from 0 at the first.
    """

    first_frames: Depth
    last_frames: Depth
    percent: Annotated[float, Field(gt=0, le=100)] = 100.0

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.first_frames >= self.last_frames:
            raise ValueError(
                "`first_frames:` is below `last_frames:`; for a single depth write `ecn_frames:`"
            )
        return self


@final
class LinkSettings(Model):
    """Buffers, scheduling, failure detection, congestion marks and headers of links.

    Attributes:
        credit_bytes: Receive buffer of a port and lane.
        ecn: Two depths in place of `ecn_frames`, and the probability of a mark between them.
        queues: Queues of output ports, by what waits in them, in place of credits: frames that find no room
            are lost, or trimmed. None for lossless links.
        ecn_frames: Frames that wait behind a frame when it leaves its queue, from which it is marked; None
            for no marks.
    """

    credit_bytes: Annotated[int, Field(ge=1)] = 65536
    scheduler: Literal["strict", "round-robin"] = "strict"
    detect_us: NotNegative = 10.0
    network_header: Annotated[NetworkHeader, Field(exclude_if=lambda value: value == "cna16")] = "cna16"
    ecn_frames: Annotated[Depth | None, Field(exclude_if=lambda value: value is None)] = None
    ecn: Annotated[EcnSettings | None, Field(exclude_if=lambda value: value is None)] = None
    queues: Annotated[
        Mapping[QueueClass, QueueSettings] | None, Field(exclude_if=lambda value: value is None)
    ] = None

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if self.ecn is not None and self.ecn_frames is not None:
            raise ValueError("`ecn:` beside `ecn_frames:`: leave one of them out")
        if self.queues is None:
            return self
        if "credit_bytes" in self.model_fields_set:
            raise ValueError(
                "`queues:` beside `credit_bytes:`: a link has credits or loses frames; leave one of them out"
            )
        if "response" in self.queues and self.queues["response"].trim:
            raise ValueError("`trim:` in the queue of responses: they have no payload; leave it out")
        if any(queue.pfc is not None for name, queue in self.queues.items() if name != "data"):
            raise ValueError("`pfc:` pauses all data: write it under `data:`")
        if self.trims and self.network_header != "cna16":
            raise ValueError("`trim:` knows the CNA16 network header only: leave `network_header:` out")
        return self

    @property
    def lossy(self) -> bool:
        """True if full queues lose frames."""
        return self.queues is not None

    @property
    def pfc(self) -> PfcSettings | None:
        """Priority flow control of data; None without."""
        data = (self.queues or {}).get("data")
        return None if data is None else data.pfc

    @property
    def may_deadlock(self) -> bool:
        """True if a frame can wait without end: for credits, or in a pause that no watchdog ends."""
        return self.queues is None or (self.pfc is not None and self.pfc.watchdog_us is None)

    @property
    def trims(self) -> bool:
        """True if a queue trims frames."""
        return any(queue.trim for queue in (self.queues or {}).values())

    @property
    def marks(self) -> bool:
        """True if data frames take marks: of congestion, or that they were trimmed."""
        return self.marking is not None or self.trims

    @property
    def marking(self) -> Marking | None:
        """Depths at which switches mark frames; ports to hosts mark where queues may be full."""
        if self.ecn is not None:
            return Marking(
                self.ecn.first_frames, self.ecn.last_frames, self.ecn.percent / 100, to_hosts=self.lossy
            )
        if self.ecn_frames is None:
            return None
        return Marking(self.ecn_frames, self.ecn_frames, to_hosts=self.lossy)
