# SPDX-License-Identifier: Apache-2.0
"""StreamChannel: arbitration, packet-outs, acknowledgements in; packet-ins and notifications out.

The methods run on the background event loop, but any thread may call `publish` and `packet_in`. Packets to
and from a client in this process (`DirectPackets`) bypass the loop and pass in the caller's thread.
"""

import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterable
from functools import partial
from typing import Any, Protocol, final

from finsy.proto import U128, p4r, rpc_code, rpc_status

from controller.p4runtime.event_loop import background_loop
from controller.p4runtime.local import DirectPackets
from emulation import _engine
from emulation.p4runtime.device import Device
from emulation.p4runtime.outgoing import Handover, Losses, Outgoing
from emulation.p4runtime.roles import Role
from emulation.p4runtime.status import Refusal

__all__ = ["Stream", "Streams"]

_LONGEST_FRAME = 65_535
"""Bytes: the largest MTU of an Ethernet interface."""

_HANDOVER = "the queue in front of its controllers"

_STATUS_MESSAGE: dict[int, str] = {
    rpc_code.OK: "",
    rpc_code.ALREADY_EXISTS: "another controller is primary",
    rpc_code.NOT_FOUND: "no controller is primary",
}


class Timer(Protocol):
    """Clock and timer of an event loop, in seconds."""

    def time(self) -> float:
        """Return the present time."""
        ...

    def call_at(self, when: float, callback: Callable[..., Any], *args: Any) -> Any:
        """Call `callback` at a time of this clock."""
        ...


@final
class Stream:
    """One StreamChannel: its queue of outgoing messages, and the device and role of its arbitration.

    `packets` passes packets directly to a client in this process, whose queue has no limit. `losses` counts
    messages that the full queue of any other client drops.
    """

    def __init__(self, packets: DirectPackets | None = None, losses: Losses | None = None) -> None:
        self.packets = packets
        # A client of this process is read by the event loop of this process; it loses nothing.
        self.outgoing = Outgoing() if packets is None else Outgoing(sys.maxsize, sys.maxsize)
        self.device: Device | None = None
        self.role = Role("")
        self._losses = Losses() if losses is None else losses

    def send(self, message: p4r.StreamMessageResponse) -> None:
        """Queue a message; a full queue drops and counts it."""
        if not self.outgoing.put(message):
            self._losses.count(self._device_id, self._name, str(message.WhichOneof("update")))

    def send_directly(self, message: p4r.StreamMessageResponse) -> None:
        """Give a message to the client at once if it runs in this process, else queue it."""
        if self.packets is not None and self.packets.to_client is not None:
            self.packets.to_client(message)
        else:
            self.send(message)

    async def next(self) -> p4r.StreamMessageResponse | None:
        """Wait for the next message to the client and return it; None when the stream has ended.

        Messages dropped by a full queue are logged once the queue is empty.
        """
        if not self.outgoing:
            self.say_lost()
        return await self.outgoing.get()

    def say_lost(self) -> None:
        """Log the messages dropped by the queue."""
        self._losses.say(self._name, self._device_id)

    @property
    def _device_id(self) -> int:
        return 0 if self.device is None else self.device.id

    @property
    def _name(self) -> str:
        """Name of the queue in the log."""
        role = f" of role {self.role.name!r}" if self.role.name else ""
        return f"the queue to a controller{role}"


@final
class Streams:
    """The open StreamChannel streams of a P4Runtime server: messages from and to its controllers.

    `device_of` finds a device by its id, or raises a Refusal.
    """

    def __init__(
        self,
        network: _engine.SwitchSet,
        device_of: Callable[[int], Device],
        lock: threading.RLock,
        on_packet_out: Callable[[], None] | None,
        timer: Timer | None = None,
    ) -> None:
        self._network = network
        self._device_of = device_of
        self._lock = lock
        self._on_packet_out = on_packet_out
        self._timer: Timer = background_loop() if timer is None else timer
        self.losses = Losses()
        self._handovers: dict[int, Handover] = {}  # by device id: every device has its own limits
        self._open: set[Stream] = set()
        self._closed = False

    async def converse(
        self, messages: AsyncIterator[p4r.StreamMessageRequest], packets: DirectPackets | None = None
    ) -> AsyncIterator[p4r.StreamMessageResponse]:
        """Serve one StreamChannel until it ends; a Refusal of its arbitration ends it."""
        stream = Stream(packets, self.losses)
        if packets is not None:
            packets.to_service = partial(self._on_message, stream)
        listener = asyncio.create_task(self._listen(stream, messages))
        self._open.add(stream)
        try:
            while (message := await stream.next()) is not None:
                yield message
            if not self._closed:  # the client ended the stream, or was refused
                await listener
        finally:
            listener.cancel()
            self._open.discard(stream)
            stream.say_lost()
            if packets is not None:
                packets.to_service = None  # a reference to the stream
            if stream.device is not None:
                told = stream.role.arbitration.leave(stream)
                stream.role.advisories.leave(stream)
                self._change(stream.device, stream.role, told)

    async def _listen(self, stream: Stream, messages: AsyncIterator[p4r.StreamMessageRequest]) -> None:
        try:
            async for message in messages:
                if self._closed:
                    return
                self._on_message(stream, message)
        finally:
            stream.outgoing.end()

    def close(self) -> None:
        """End every stream; drop queued messages and later requests, so a flood does not delay the stop."""
        self._closed = True
        for stream in self._open:
            stream.outgoing.close()

    def _on_message(self, stream: Stream, message: p4r.StreamMessageRequest) -> None:
        which = message.WhichOneof("update")
        error = p4r.StreamError()
        try:
            match which:
                case "arbitration":
                    self._arbitrate(stream, message.arbitration)
                    return
                case "packet":
                    error.packet_out.packet_out.CopyFrom(message.packet)
                    self._packet_out(stream, message.packet)
                case "digest_ack":
                    error.digest_list_ack.digest_list_ack.CopyFrom(message.digest_ack)
                    self._acknowledge(stream, message.digest_ack)
                case _:
                    error.other.other.CopyFrom(message.other)
                    raise Refusal(rpc_code.UNIMPLEMENTED, f"stream message {which} is not supported")
        except Refusal as refusal:
            if which == "arbitration":
                raise
            error.canonical_code, error.message = refusal.code, refusal.message
            stream.send_directly(p4r.StreamMessageResponse(error=error))

    # -- arbitration

    def _arbitrate(self, stream: Stream, update: p4r.MasterArbitrationUpdate) -> None:
        device = self._device_of(update.device_id)
        role = device.role(update.role.name)
        if stream.device is not None and (stream.device is not device or stream.role is not role):
            raise Refusal(
                rpc_code.FAILED_PRECONDITION,
                f"the stream of device {stream.device.id} cannot change to device {update.device_id}, "
                f"role {update.role.name!r}; open another stream",
            )
        config = update.role.config if update.role.HasField("config") else None
        role.check(config, device.roles)
        election_id = U128.decode(update.election_id) if update.HasField("election_id") else None
        before = role.arbitration.primary
        told = role.arbitration.update(stream, election_id)
        stream.device, stream.role = device, role
        if role.arbitration.primary is stream:
            role.configure(config)
            if before is not stream:
                with self._lock:
                    device.primary_changed()
        self._change(device, role, told, stream, before)

    def _change(self, device: Device, role: Role, told: Iterable[Any], *at_once: Any) -> None:
        """Notify the clients `told`: those in `at_once` now, the rest when the role's Advisories permit."""
        timer, advisories = self._timer, role.advisories
        waited = advisories.deadline is not None
        self._notify(device, role, advisories.change(told, timer.time(), at_once))
        if not waited and advisories.deadline is not None:
            timer.call_at(advisories.deadline, self._notify_due, device, role)

    def _notify_due(self, device: Device, role: Role) -> None:
        self._notify(device, role, role.advisories.due(self._timer.time()))

    def _notify(self, device: Device, role: Role, told: Iterable[Any]) -> None:
        update = p4r.MasterArbitrationUpdate(device_id=device.id)
        if role.name:
            update.role.name = role.name
        if role.config is not None:
            update.role.config.CopyFrom(role.config)
        if role.arbitration.highest is not None:
            update.election_id.CopyFrom(U128.encode(role.arbitration.highest))
        # Streams of one status share a message: a change of primary is sent to all of them.
        messages: dict[int, p4r.StreamMessageResponse] = {}
        for stream in told:
            code = role.arbitration.status(stream)
            if code not in messages:
                update.status.CopyFrom(rpc_status.Status(code=code, message=_STATUS_MESSAGE[code]))
                messages[code] = p4r.StreamMessageResponse(arbitration=update)
            stream.outgoing.put_state(messages[code])

    # -- from controllers

    @staticmethod
    def _primary_of(stream: Stream, what: str) -> Device:
        if stream.device is None or stream.role.arbitration.primary is not stream:
            raise Refusal(rpc_code.PERMISSION_DENIED, f"only the primary sends {what}")
        if stream.device.forwarding is None:
            raise Refusal(
                rpc_code.FAILED_PRECONDITION,
                f"No forwarding pipeline config set for device {stream.device.id}",
            )
        return stream.device

    def _packet_out(self, stream: Stream, packet: p4r.PacketOut) -> None:
        device = self._primary_of(stream, "packet-outs")
        assert device.forwarding is not None
        if len(packet.payload) > _LONGEST_FRAME:
            raise Refusal(
                rpc_code.INVALID_ARGUMENT,
                f"the packet-out has {len(packet.payload)} bytes, but a frame at most {_LONGEST_FRAME}",
            )
        frame = device.forwarding.pipeline.packet_out.join(packet)
        try:
            with self._lock:
                self._network.packet_out(device.switch, frame)
        except RuntimeError as error:  # a failed assertion, or an exhausted budget
            raise Refusal(rpc_code.INTERNAL, str(error)) from error
        if self._on_packet_out is not None:
            self._on_packet_out()

    def _acknowledge(self, stream: Stream, ack: p4r.DigestListAck) -> None:
        device = self._primary_of(stream, "acknowledgements")
        if not stream.role.has(ack.digest_id):
            raise Refusal(
                rpc_code.PERMISSION_DENIED,
                f"digest {ack.digest_id} does not belong to role {stream.role.name!r}",
            )
        with self._lock:
            assert device.forwarding is not None
            device.forwarding.digests.acknowledge(ack)

    # -- to controllers

    def _passes_at_once(self, device: Device) -> bool:
        """Return whether the primary of every role of a device is a client in this process."""
        primaries = [role.arbitration.primary for role in device.roles]
        return all(isinstance(stream, Stream) and stream.packets is not None for stream in primaries)

    def packet_in(self, device: Device, frame: bytes) -> None:
        """Queue a packet-in for the primary of every role; without a primary it is dropped.

        If all primaries are clients in this process, the caller's thread delivers the packet-in at once.
        """
        if self._passes_at_once(device):
            self._packet_in(device, frame)
        else:
            self._hand_over(device, "packet", len(frame), self._packet_in, device, frame)

    def _packet_in(self, device: Device, frame: bytes) -> None:
        if device.forwarding is None:
            return
        packet = device.forwarding.pipeline.packet_in.split(frame)
        if packet is None:
            return
        for role in device.roles:
            if isinstance(role.arbitration.primary, Stream) and role.takes(packet):
                role.arbitration.primary.send_directly(p4r.StreamMessageResponse(packet=packet))

    def publish(self, device: Device, id: int, message: p4r.StreamMessageResponse) -> None:
        """Queue a notification about entity `id` for the primaries of all roles with access to it."""
        kind = str(message.WhichOneof("update"))
        self._hand_over(device, kind, message.ByteSize(), self._publish, device, id, message)

    def _hand_over(self, device: Device, kind: str, size: int, call: Callable[..., Any], *args: Any) -> None:
        if self._passes_at_once(device):
            background_loop().call_soon_threadsafe(call, *args)
            return
        handover = self._handovers.get(device.id)
        if handover is None:
            new = Handover(background_loop(), partial(self.losses.say, _HANDOVER, device.id))
            handover = self._handovers.setdefault(device.id, new)  # two threads may make one at once
        if not handover.hand(size, call, *args):
            self.losses.count(device.id, _HANDOVER, kind)

    @staticmethod
    def _publish(device: Device, id: int, message: p4r.StreamMessageResponse) -> None:
        for role in device.roles:
            if isinstance(role.arbitration.primary, Stream) and role.has(id):
                role.arbitration.primary.send(message)
