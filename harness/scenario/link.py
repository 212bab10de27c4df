# SPDX-License-Identifier: Apache-2.0
"""`link:` of a scenario: buffers and queues of links, failure detection, congestion marks, headers."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self, final

from pydantic import Field, model_validator

from controller.tables.congestion import Marking
from emulation.traffic.frames.values import NetworkHeader
from harness.scenario.topology import Model, NotNegative

__all__ = ["EcnSettings", "LinkSettings", "PfcSettings", "PortSettings", "QueueClass", "QueueSettings"]

QueueClass = Literal[
    "data", "response", "level-0", "level-2", "level-3", "level-4", "level-5", "level-6", "level-7"
]
"""Queues that can have settings: a service level of data, responses, or all data."""


Depth = Annotated[int, Field(ge=1, lt=2**19)]
"""Number of frames in a queue."""


@final
class PfcSettings(Model):
    """Priority flow control (IEEE 802.1Qbb): a receive buffer pauses and resumes the sender of a class.

    Attributes:
        xoff_bytes: Bytes of a class in a port's buffer above which the sender must stop.
        xon_bytes: Bytes of the class at or below which the sender resumes; half of `xoff_bytes` by default.
        headroom_bytes: Room for frames that arrive before the sender stops; enough for every link by default.
        watchdog_us: Longest pause of a class; a watchdog then ends it, and drops waiting frames; None for no
            limit.
        restore_us: Time after the watchdog's action during which the sender ignores pauses of the class.
    """

    xoff_bytes: Annotated[int, Field(ge=1)]
    xon_bytes: Annotated[int, Field(ge=0)] | None = None
    headroom_bytes: Annotated[int, Field(ge=0)] | None = None
    watchdog_us: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    restore_us: NotNegative = 0.0

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.xon > self.xoff_bytes:
            raise ValueError(
                f"`xon_bytes: {self.xon}` is above `xoff_bytes: {self.xoff_bytes}`; give at most that"
            )
        return self

    @property
    def xon(self) -> int:
        """Threshold for resuming: the sender resumes when a class has at most this number of bytes."""
        return self.xoff_bytes // 2 if self.xon_bytes is None else self.xon_bytes


@final
class QueueSettings(Model):
    """A queue of an output port; a full queue drops arriving frames (tail drop).

    Attributes:
        bytes: Bytes that may wait; None for no limit.
        frames: Frames that may wait; None for no limit.
        pfc: Priority flow control of the senders; only for the queues of all `data`.
        trim: Cut the payload of a data frame that finds no room; its headers join the queue of responses.
    """

    bytes: Annotated[int, Field(ge=64)] | None = None
    frames: Annotated[int, Field(ge=1)] | None = None
    trim: bool = False
    pfc: PfcSettings | None = None

    @model_validator(mode="after")
    def _limited(self) -> Self:
        if self.bytes is None and self.frames is None and self.pfc is None:
            raise ValueError("the queue has no limit; give `bytes:`, `frames:` or `pfc:`")
        return self


@final
class EcnSettings(Model):
    """Congestion marks with two thresholds on the queue depth, in frames behind a departing frame.

    Attributes:
        first_frames: Depth from which some frames are marked.
        last_frames: Depth from which every frame is marked.
        percent: Probability of a mark just below `last_frames`; it grows from 0 at `first_frames`.
    """

    first_frames: Depth
    last_frames: Depth
    percent: Annotated[float, Field(gt=0, le=100)] = 100.0

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.first_frames >= self.last_frames:
            raise ValueError(
                f"`first_frames: {self.first_frames}` is not below `last_frames: {self.last_frames}`; give "
                "a smaller `first_frames:`, or write `ecn_frames:` for a single depth"
            )
        return self


@final
class PortSettings(Model):
    """Settings of one direction of a link, for a port whose buffers differ from the settings of `link:`.

    Attributes:
        queues: Queues of the output port; None for the queues that `link:` sets.
        ecn: Queue depths of the port at which frames are marked; None for the depths that `link:` sets.
    """

    queues: Mapping[QueueClass, QueueSettings] | None = None
    ecn: EcnSettings | None = None

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if self.queues is None and self.ecn is None:
            raise ValueError("the port has no settings; give `queues:` or `ecn:`")
        if any(queue.pfc is not None for queue in (self.queues or {}).values()):
            raise ValueError("`pfc:` holds for all links; write it under `link.queues.data`")
        return self


@final
class LinkSettings(Model):
    """Buffers, scheduling, failure detection, congestion marks and headers of links.

    Attributes:
        credit_bytes: Size of the receive buffer of a port for each virtual lane.
        ecn: Two thresholds in place of `ecn_frames`, and the probability of a mark between them.
        queues: Limited queues of output ports by class of frames, in place of credits: frames that find no
            room are lost, or trimmed. None for lossless links.
        ports: Queues and marks of single directions, by name such as `core0->agg0`.
        ecn_frames: A frame is marked if at least this many frames wait behind it when it leaves its queue;
            None for no marks.
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
    ports: Annotated[Mapping[str, PortSettings], Field(exclude_if=lambda value: not value)] = {}

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if self.ecn is not None and self.ecn_frames is not None:
            raise ValueError("`ecn:` stands beside `ecn_frames:`; leave one of them out")
        for name, port in self.ports.items():
            if port.queues is not None and self.queues is None:
                raise ValueError(
                    f"`ports:` sets queues for {name}, but links have credits; set `queues:` for all links"
                )
            if port.ecn is not None and self.marking is None:
                raise ValueError(
                    f"`ports:` sets ECN for {name}, but no other port marks frames; set `ecn:` for all links"
                )
        if self.queues is None:
            return self
        if "credit_bytes" in self.model_fields_set:
            raise ValueError(
                "`queues:` stands beside `credit_bytes:`, but a link with credits loses no frames; leave one "
                "of them out"
            )
        chosen = (self.queues, *(port.queues or {} for port in self.ports.values()))
        if any("response" in queues and queues["response"].trim for queues in chosen):
            raise ValueError(
                "`response:` has `trim:`, but responses have no payload to cut; leave `trim:` out"
            )
        if any(queue.pfc is not None for name, queue in self.queues.items() if name != "data"):
            raise ValueError(
                "`pfc:` stands under a single class, but pauses all data; write it under `data:`"
            )
        if self.trims and self.network_header != "cna16":
            raise ValueError(
                f"`trim:` supports the network header cna16 only, not {self.network_header}; leave "
                "`network_header:` out"
            )
        return self

    @property
    def lossy(self) -> bool:
        """True if full queues lose frames."""
        return self.queues is not None

    @property
    def pfc(self) -> PfcSettings | None:
        """Priority flow control of data; None if the links have none."""
        data = (self.queues or {}).get("data")
        return None if data is None else data.pfc

    @property
    def may_deadlock(self) -> bool:
        """True if a frame can wait forever: for credits, or in a pause that no watchdog ends."""
        return self.queues is None or (self.pfc is not None and self.pfc.watchdog_us is None)

    @property
    def trims(self) -> bool:
        """True if a queue trims frames."""
        chosen = (self.queues or {}, *(port.queues or {} for port in self.ports.values()))
        return any(queue.trim for queues in chosen for queue in queues.values())

    @property
    def marks(self) -> bool:
        """True if switches mark data frames as congested or as trimmed."""
        return self.marking is not None or self.trims

    @property
    def marking(self) -> Marking | None:
        """Queue depths at which switches mark frames, or None; on lossy links ports to hosts mark too."""
        if self.ecn is not None:
            return self._between(self.ecn)
        if self.ecn_frames is None:
            return None
        return Marking(self.ecn_frames, self.ecn_frames, to_hosts=self.lossy)

    def port_marking(self, port: PortSettings) -> Marking | None:
        """Return the depths at which a port with own marks marks frames; None if it has none."""
        return None if port.ecn is None else self._between(port.ecn)

    def _between(self, ecn: EcnSettings) -> Marking:
        return Marking(ecn.first_frames, ecn.last_frames, ecn.percent / 100, to_hosts=self.lossy)
