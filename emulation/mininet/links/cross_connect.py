# SPDX-License-Identifier: Apache-2.0
"""The cross-connect of the Mininet testbed: a link is a connection of two endpoints.

An endpoint is a veth pair. Its device side, in the namespace of the device, is the interface of a switch or
host, the device. Its inner side is in the cross-connect's namespace. To connect two endpoints, the kernel
redirects frames that arrive at each inner side to the other inner side. Faults of a link are applied at the
inner sides only: the device sides keep their configuration, and lose their carrier when the inner side is
down.

    device a ──veth── inner a   loss, redirect ──▶  delay, rate   inner b ──veth── device b
"""

import errno
import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import final

from emulation.errors import TestbedError
from emulation.linux import kernel, netns, priority_queues, requests
from emulation.linux.backlog import Backlogs
from emulation.linux.capture import start_capture
from emulation.linux.frame_tap import FrameTap
from emulation.linux.netlink import Request, RouteSocket
from emulation.linux.record import RunRecord
from emulation.mininet.links import counters
from emulation.mininet.links.counters import EndpointCounters
from emulation.mininet.links.endpoints import Endpoint, Tunnel, check_new

__all__ = ["QUEUE_BYTES", "CrossConnect"]

QUEUE_BYTES = 1 << 20
"""Default bytes of the queue of a connection with a rate."""

# First interface indices, chosen so that no index has to be looked up; the sides of a pair must differ.
_PATCH_INDEX, _DEVICE_INDEX, _PROBE_INDEX = 1_000_000, 2_000_000, 3_000_000
_FRAME_HEAD = 14 + 8  # Ethernet and two VLAN tags
_LEAST_RATE = 8.0  # a byte a second
_LONGEST_DELAY = 200.0  # 32 bits of 64 ns each
_DELAYED_FRAMES = 100_000


@final
@dataclass(frozen=True, slots=True)
class _Direction:
    """Rates, loss and delay of one direction of a connection; the impaired rate replaces the rate."""

    rate_bps: float | None = None
    queue_bytes: int = QUEUE_BYTES
    lanes: bool = False
    loss: float = 0.0
    impaired_rate_bps: float | None = None
    delay_s: float = 0.0

    @property
    def rate(self) -> float | None:
        return self.rate_bps if self.impaired_rate_bps is None else self.impaired_rate_bps


@final
@dataclass(slots=True)
class _Slot:
    """State of an endpoint.

    `index` is the interface index of the inner side, `mate` the name of the connected endpoint, and `inbound`
    the settings of the direction from the endpoint's device.
    """

    endpoint: Endpoint
    index: int
    mate: str | None = None
    inbound: _Direction = _Direction()
    limited: bool = False  # the egress of its inner side has a queue with a rate
    lanes: bool = False  # that queue serves frames by priority
    delayed: bool = False  # the egress of its inner side has a queue with a delay


@final
class CrossConnect:
    """Endpoints with their inner sides in `namespace`, and connections between them.

    Only one thread may use it. Times and rates are real.
    """

    def __init__(self, namespace: str) -> None:
        kernel.need(kernel.VETH, kernel.CLSACT, kernel.CLS_BPF, kernel.MIRRED)
        netns.quiet(namespace)
        self._namespace = namespace
        self._route = RouteSocket(namespace)
        self._slots: dict[str, _Slot] = {}
        self._backlogs: Backlogs | None = None
        self._unsettled = False
        self._kept_drops: dict[str, int] = {}
        self._removed: dict[str, EndpointCounters] = {}  # last counters of tunnels that were removed
        self._made = 0
        self._open = True

    def close(self) -> None:
        """Delete every endpoint, both sides, before returning. May be called again."""
        if not self._open:
            return
        self._open = False
        if self._backlogs is not None:
            self._backlogs.close()
        refused = self._route.attempt([requests.delete_group("the interfaces of the cross-connect")])
        self._route.close()
        self._slots.clear()
        if any(refusal.errno != errno.ENODEV for refusal in refused):
            raise TestbedError(f"the kernel refuses {refused[0]}")

    def add(self, endpoints: Sequence[Endpoint]) -> None:
        """Make endpoints; their device sides are up, but have no carrier until `connect`.

        TestbedError names an endpoint that cannot be made; then none of `endpoints` is made.
        """
        check_new(endpoints, [slot.endpoint for slot in self._slots.values()], self._namespace)
        handles: dict[str, int] = {}
        pairs: list[Request] = []
        tunnels: list[Request] = []
        filters: list[Request] = []
        slots: list[_Slot] = []
        try:
            for number, endpoint in enumerate(endpoints, self._made):
                if endpoint.tunnel is not None:
                    slot = _Slot(endpoint, _PATCH_INDEX + number)
                    tunnels.append(self._tunnel(slot, endpoint.tunnel, handles))
                    filters.append(requests.clsact(slot.index, f"filters at endpoint {endpoint.name}"))
                    slots.append(slot)
                    continue
                if endpoint.namespace not in handles:
                    netns.quiet(endpoint.namespace)
                    handles[endpoint.namespace] = os.open(netns.DIRECTORY / endpoint.namespace, os.O_RDONLY)
                slot = _Slot(endpoint, _PATCH_INDEX + number)
                inner = requests.Side(slot.index, endpoint.interface, endpoint.mtu)
                device = requests.Side(_DEVICE_INDEX + number, endpoint.device_interface, endpoint.mtu)
                what = (
                    f"endpoint {endpoint.name} ({endpoint.device_interface} in {endpoint.namespace}, "
                    f"{endpoint.interface} in {self._namespace}, MTU {endpoint.mtu})"
                )
                pairs.append(requests.veth(inner, device, handles[endpoint.namespace], what))
                filters.append(requests.clsact(slot.index, f"filters at endpoint {endpoint.name}"))
                slots.append(slot)
            try:
                self._route.do(pairs)
                if tunnels:
                    # The tunnel's own packets leave by the namespace in which it is made.
                    with closing(RouteSocket()) as machine:
                        machine.do(tunnels)
                self._route.do(filters)
            except TestbedError:
                self._route.attempt([requests.delete_link(slot.index, "an endpoint") for slot in slots])
                raise
        finally:
            for handle in handles.values():
                os.close(handle)
        self._made += len(slots)
        self._slots.update((slot.endpoint.name, slot) for slot in slots)

    def remove_tunnel(self, name: str) -> None:
        """Remove an endpoint at the end of a tunnel; leave an endpoint with a device as it is."""
        slot = self._slot(name)
        if slot.endpoint.tunnel is None:
            return
        self._removed[name] = self.counters()[name]
        self._kept_drops.pop(name, None)
        del self._slots[name]
        self._route.do([requests.delete_link(slot.index, f"the end {name} of a tunnel")])

    def _tunnel(self, slot: _Slot, tunnel: Tunnel, handles: dict[str, int]) -> Request:
        """Return the netlink request to create an endpoint of a tunnel.

        `handles` has file descriptors of network namespaces, by name.
        """
        if self._namespace not in handles:
            handles[self._namespace] = os.open(netns.DIRECTORY / self._namespace, os.O_RDONLY)
        return requests.vxlan(
            requests.Side(slot.index, slot.endpoint.interface, slot.endpoint.mtu),
            handles[self._namespace],
            tunnel.identifier,
            (tunnel.local, tunnel.remote),
            tunnel.udp_port,
            f"VXLAN {tunnel.identifier} from {tunnel.local} to {tunnel.remote}, "
            f"endpoint {slot.endpoint.name}",
        )

    def connect(
        self,
        a: str,
        b: str,
        *,
        rate_bps: float | None = None,
        queue_bytes: int = QUEUE_BYTES,
        lanes: bool = False,
    ) -> None:
        """Connect two endpoints in both directions, and give both a carrier.

        The devices learn of their carrier some milliseconds later. Frames sent into either endpoint earlier
        are not forwarded.

        Args:
            a: name of an endpoint.
            b: name of the other endpoint.
            rate_bps: limit of each direction; None: no limit. A direction to a device whose
                frames come out of a tunnel has no limit: the rate is limited where they enter it.
            queue_bytes: size of the queue before the limit.
            lanes: whether each service level has a queue of its own, and higher levels go first.
        """
        for slot in (self._slot(a), self._slot(b)):
            if slot.mate is not None:
                raise TestbedError(
                    f"endpoint {slot.endpoint.name} is connected to {slot.mate}",
                    remedy="disconnect them first",
                )
        if a == b:
            raise TestbedError(f"endpoint {a} cannot be connected to itself", remedy="name two endpoints")
        _check_rate(rate_bps)
        if rate_bps is not None:
            kernel.need(kernel.HTB if lanes else kernel.TBF)
            most = max(self._slot(name).endpoint.mtu for name in (a, b)) + _FRAME_HEAD
            if queue_bytes < most:
                raise TestbedError(
                    f"the queue between {a} and {b} has {queue_bytes} bytes, too few for a frame",
                    remedy=f"give it {most} bytes or more",
                )
        self._settle()
        shape = _Direction(rate_bps, queue_bytes, lanes)
        first, second = self._slot(a), self._slot(b)
        into = [own for own, mate in ((first, second), (second, first)) if mate.endpoint.tunnel is None]
        self._replace_queues(into, shape, self._redirect(first, second))
        first.mate, second.mate = b, a
        self._set(True, first, second)

    def disconnect(self, a: str, b: str) -> None:
        """Disconnect two endpoints: frames on their way are lost, and both devices lose the carrier."""
        pair = self._pair(a, b)
        # Down first: the kernel sends and redirects nothing by an interface that is down.
        self._set(False, *pair)
        self._route.do(
            [requests.delete_filters(slot.index, f"filters at {slot.endpoint.name}") for slot in pair]
        )
        for slot in pair:
            slot.mate = None
            slot.inbound = _Direction()
        self._unsettled = True

    def set_carrier(self, a: str, b: str, up: bool) -> None:
        """Restore the carrier of both devices of a connection, or take it: frames on their way are lost."""
        self._set(up, *self._pair(a, b))

    def impair(
        self,
        a: str,
        b: str,
        *,
        blocked: bool = False,
        loss: float = 0.0,
        rate_bps: float | None = None,
        delay_s: float = 0.0,
    ) -> None:
        """Replace the impairment of the direction from a's device to b's.

        When a delay begins or ends, frames that wait for the link are lost. TestbedError, and no change, if
        the kernel lacks a feature.

        Args:
            a: name of the sending endpoint.
            b: name of the receiving endpoint.
            blocked: whether all frames are lost.
            loss: probability that a frame is lost, before it waits for the rate; counted at `a` as
                from_dropped_filter.
            rate_bps: rate in place of that of `connect`; None: that of `connect`.
            delay_s: delay in seconds.
        """
        sender, receiver = self._pair(a, b)
        _check_rate(rate_bps)
        if not 0.0 <= loss <= 1.0:
            raise TestbedError(f"the loss from {a} to {b} is {loss}", remedy="give a probability from 0 to 1")
        if not 0.0 <= delay_s <= _LONGEST_DELAY:
            raise TestbedError(
                f"the delay from {a} to {b} is {delay_s} s",
                remedy=f"take 0 to {_LONGEST_DELAY:g} s of real time",
            )
        shape = replace(
            receiver.inbound, loss=1.0 if blocked else loss, impaired_rate_bps=rate_bps, delay_s=delay_s
        )
        limit = kernel.HTB if shape.lanes else kernel.TBF
        kernel.need(*[limit] * (shape.rate is not None), *[kernel.NETEM] * (delay_s > 0))
        before = receiver.inbound
        lose, keep = self._lose(sender, before, shape), self._lose(sender, shape, before)
        try:
            self._replace_queues([receiver], shape, lose)
        except TestbedError:
            self._route.attempt(keep)
            raise

    def counters(self) -> Mapping[str, EndpointCounters]:
        """Return the counters of every endpoint by name, removed tunnels included."""
        names = {slot.index: name for name, slot in self._slots.items()}
        counted = counters.read(self._route, names, self._kept_drops)
        for name, before in self._removed.items():
            counted[name] = before + counted[name] if name in counted else before
        return counted

    def capture(self, endpoint: str, path: Path, record: RunRecord) -> subprocess.Popen[bytes]:
        """Start a tcpdump of both directions of an endpoint, and return it once it captures.

        It records the device's frames before an impairment drops any, and the frames that the device
        receives, with times in nanoseconds and without buffering. End it with terminate().
        """
        return start_capture(self._namespace, self._slot(endpoint).endpoint.interface, path, record)

    def tap(self, endpoint: str, ethertype: int, most: int) -> FrameTap:
        """Return a tap that keeps the last `most` frames with an EtherType, in both directions."""
        return FrameTap(self._namespace, self._slot(endpoint).endpoint.interface, ethertype, most)

    # -- requests

    def _settle(self) -> None:
        """Wait until frames sent into disconnected endpoints are gone: no new connection may forward them."""
        if not self._unsettled:
            return
        if self._backlogs is None:
            self._backlogs = Backlogs(self._namespace, self._route, _PROBE_INDEX)
        self._backlogs.wait()
        self._unsettled = False

    def _set(self, up: bool, *slots: _Slot) -> None:
        state = "up" if up else "down"
        self._route.do(
            [requests.set_up(slot.index, up, f"endpoint {slot.endpoint.name}, {state}") for slot in slots]
        )

    def _redirect(self, first: _Slot, second: _Slot) -> list[Request]:
        return [
            requests.redirect(
                sender.index,
                receiver.index,
                f"the way from {sender.endpoint.name} to {receiver.endpoint.name}",
            )
            for sender, receiver in ((first, second), (second, first))
        ]

    def _lose(self, sender: _Slot, before: _Direction, after: _Direction) -> list[Request]:
        what = f"loss from {sender.endpoint.name} to {sender.mate}"
        if after.loss:
            return [requests.loss(sender.index, after.loss, what)]
        return [requests.delete_filter(sender.index, requests.LOSS, what)] if before.loss else []

    def _replace_queues(self, slots: Sequence[_Slot], shape: _Direction, more: Sequence[Request]) -> None:
        """Replace the queues into the endpoints' devices and send `more` requests, all in one batch.

        TestbedError if the kernel refuses a request; the endpoints then have the queues that they had, empty.
        """
        before = [slot.inbound for slot in slots]
        asked = [request for slot in slots for request in self._shape(slot, shape)]
        try:
            self._route.do([*asked, *more])
        except TestbedError:
            for slot, old in zip(slots, before, strict=True):
                what = f"rate and delay into {slot.endpoint.name}"
                self._route.attempt([requests.delete_root(slot.index, what)])
                slot.limited = slot.delayed = slot.lanes = False
                self._route.attempt(self._shape(slot, old))
            raise

    def _shape(self, slot: _Slot, shape: _Direction) -> list[Request]:
        """Return the requests that set up the queues into an endpoint's device, and update the slot."""
        what = f"rate and delay into {slot.endpoint.name}"
        limited, delayed = shape.rate is not None, shape.delay_s > 0
        asked: list[Request] = []
        # A change of the rate alone keeps the queue with its frames; any other change replaces the queue.
        other_kind = slot.delayed != delayed or (slot.limited != limited and (delayed or not limited))
        other_kind = other_kind or (slot.limited and slot.lanes != shape.lanes)
        lanes_made = slot.limited and slot.lanes and not other_kind
        if other_kind and (slot.limited or slot.delayed):
            self._keep_drops(slot)
            asked.append(requests.delete_root(slot.index, what))
        if delayed:
            asked.append(requests.delay(slot.index, shape.delay_s, _DELAYED_FRAMES, what))
        if shape.rate is not None and shape.lanes:
            if not lanes_made:
                asked.append(priority_queues.queue(slot.index, what, delayed=delayed))
            asked += priority_queues.rates(slot.index, shape.rate, slot.endpoint.mtu, what)
            if not lanes_made:
                asked += priority_queues.waiting(slot.index, shape.queue_bytes, what)
        elif shape.rate is not None:
            asked.append(
                requests.rate_limit(
                    slot.index, shape.rate, slot.endpoint.mtu, shape.queue_bytes, what, delayed=delayed
                )
            )
        slot.limited, slot.delayed, slot.lanes, slot.inbound = limited, delayed, shape.lanes, shape
        return asked

    def _keep_drops(self, slot: _Slot) -> None:
        name = slot.endpoint.name
        dropped = counters.queue_drops(self._route, slot.index)
        self._kept_drops[name] = self._kept_drops.get(name, 0) + dropped

    # -- checks

    def _slot(self, name: str) -> _Slot:
        try:
            return self._slots[name]
        except KeyError:
            raise TestbedError(
                f"there is no endpoint {name}",
                remedy=f"name one of the cross-connect's {len(self._slots)} endpoints",
            ) from None

    def _pair(self, a: str, b: str) -> tuple[_Slot, _Slot]:
        first, second = self._slot(a), self._slot(b)
        if first.mate != b:
            raise TestbedError(
                f"endpoints {a} and {b} are not connected to each other", remedy="connect them first"
            )
        return first, second


def _check_rate(rate_bps: float | None) -> None:
    if rate_bps is not None and not rate_bps >= _LEAST_RATE:
        raise TestbedError(
            f"the rate is {rate_bps} bit/s",
            remedy=f"take {_LEAST_RATE} bit/s or more, or block the direction",
        )
