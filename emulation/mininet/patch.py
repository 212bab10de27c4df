# SPDX-License-Identifier: Apache-2.0
"""The patch panel of the Mininet testbed: every link is two jacks and what leads from one to the other.

A jack is a veth pair. Its device side, in a namespace of the device's, is what a switch or a host is bound
to; its patch side is in the namespace of the panel. Two jacks are patched when what comes in at one's patch
side is sent out at the other's. Everything that goes wrong with a link goes wrong at patch sides: the device
sides stay as they are, and lose their carrier when the patch side is down.

    device a ──veth── patch a   loss, redirect ──▶  delay, rate   patch b ──veth── device b
"""

import errno
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import final

from emulation.errors import TestbedError
from emulation.mininet import counters
from emulation.mininet.counters import JackCounters
from emulation.mininet.linux import kernel, netns, requests
from emulation.mininet.linux.backlog import Backlogs
from emulation.mininet.linux.capture import start_capture
from emulation.mininet.linux.netlink import Request, RouteSocket
from emulation.mininet.linux.record import RunRecord

__all__ = ["QUEUE_BYTES", "Jack", "JackCounters", "PatchPanel"]

QUEUE_BYTES = 1 << 20
"""What may wait before a link that has a rate, unless said otherwise."""

# Indices of our own: no request has to ask for one. Those of the two sides of a pair must not be equal.
_PATCH_INDEX, _DEVICE_INDEX, _PROBE_INDEX = 1_000_000, 2_000_000, 3_000_000
_MAX_NAME = 15  # IFNAMSIZ - 1
_FRAME_HEAD = 14 + 8  # Ethernet and two VLAN tags
_LEAST_RATE = 8.0  # a byte a second
_LONGEST_DELAY = 200.0  # 32 bits of 64 ns each
_DELAYED_FRAMES = 100_000


@final
@dataclass(frozen=True, slots=True)
class Jack:
    """`device_interface` in `namespace` is the device's, `interface` the panel's; frames of up to `mtu` bytes
    behind the Ethernet header pass."""

    name: str
    interface: str
    namespace: str
    device_interface: str
    mtu: int


@final
@dataclass(frozen=True, slots=True)
class _Way:
    """One direction of a link."""

    rate_bps: float | None = None
    queue_bytes: int = QUEUE_BYTES
    loss: float = 0.0
    impaired_rate_bps: float | None = None
    delay_s: float = 0.0

    @property
    def rate(self) -> float | None:
        return self.rate_bps if self.impaired_rate_bps is None else self.impaired_rate_bps


@final
@dataclass(slots=True)
class _Place:
    """A jack as it is now. `way` leads from its mate's device to its own."""

    jack: Jack
    index: int
    mate: str | None = None
    way: _Way = _Way()
    limited: bool = False  # whether there is a queue with a rate before what it sends,
    delayed: bool = False  # and one with a delay


@final
class PatchPanel:
    """Jacks and patches in a namespace of their own. For one thread at a time; times and rates are real."""

    def __init__(self, patch_namespace: str) -> None:
        kernel.need(kernel.VETH, kernel.CLSACT, kernel.CLS_BPF, kernel.MIRRED)
        netns.quiet(patch_namespace)
        self._namespace = patch_namespace
        self._route = RouteSocket(patch_namespace)
        self._places: dict[str, _Place] = {}
        self._backlogs: Backlogs | None = None
        self._unsettled = False
        self._kept_drops: dict[str, int] = {}
        self._open = True

    def close(self) -> None:
        """Take every jack away, with its device side; gone when this returns. May be called again."""
        if not self._open:
            return
        self._open = False
        if self._backlogs is not None:
            self._backlogs.close()
        refused = self._route.attempt([requests.delete_group("the interfaces of the patch panel")])
        self._route.close()
        self._places.clear()
        if any(one.errno != errno.ENODEV for one in refused):
            raise TestbedError(f"the kernel refuses {refused[0]}")

    def add(self, jacks: Sequence[Jack]) -> None:
        """Make jacks: the device sides are up and wait for a carrier, which comes with `patch`.

        TestbedError names one that cannot be; then none is made.
        """
        self._check_new(jacks)
        handles: dict[str, int] = {}
        made: list[Request] = []
        filters: list[Request] = []
        places: list[_Place] = []
        try:
            for number, jack in enumerate(jacks, len(self._places)):
                if jack.namespace not in handles:
                    netns.quiet(jack.namespace)
                    handles[jack.namespace] = os.open(netns.DIRECTORY / jack.namespace, os.O_RDONLY)
                place = _Place(jack, _PATCH_INDEX + number)
                patch = requests.Side(place.index, jack.interface, jack.mtu)
                device = requests.Side(_DEVICE_INDEX + number, jack.device_interface, jack.mtu)
                what = (
                    f"jack {jack.name} ({jack.device_interface} in {jack.namespace}, "
                    f"{jack.interface} in {self._namespace}, MTU {jack.mtu})"
                )
                made.append(requests.veth(patch, device, handles[jack.namespace], what))
                filters.append(requests.clsact(place.index, f"filters at jack {jack.name}"))
                places.append(place)
            try:
                self._route.do(made)
                self._route.do(filters)
            except TestbedError:
                self._route.attempt([requests.delete_link(place.index, "a jack") for place in places])
                raise
        finally:
            for handle in handles.values():
                os.close(handle)
        self._places.update((place.jack.name, place) for place in places)

    def patch(self, a: str, b: str, *, rate_bps: float | None = None, queue_bytes: int = QUEUE_BYTES) -> None:
        """Let what comes from each of two jacks' devices go to the other's, and give both a carrier.

        `rate_bps` holds each direction to a rate, behind a queue of `queue_bytes`; None: as fast as can be.
        The device sides take part once they know of their carrier, some milliseconds later. No frame that was
        sent into either jack before goes this way.
        """
        for place in (self._place(a), self._place(b)):
            if place.mate is not None:
                raise TestbedError(
                    f"jack {place.jack.name} is patched to {place.mate}", remedy="take that patch away first"
                )
        if a == b:
            raise TestbedError(f"jack {a} cannot be patched to itself", remedy="name two jacks")
        _check_rate(rate_bps)
        if rate_bps is not None:
            kernel.need(kernel.TBF)
            most = max(self._place(name).jack.mtu for name in (a, b)) + _FRAME_HEAD
            if queue_bytes < most:
                raise TestbedError(
                    f"a queue of {queue_bytes} bytes between {a} and {b}", remedy=f"take {most} or more"
                )
        self._settle()
        way = _Way(rate_bps, queue_bytes)
        one, other = self._place(a), self._place(b)
        self._route.do([*self._lead(one, way), *self._lead(other, way), *self._redirect(one, other)])
        one.mate, other.mate = b, a
        self._set(True, one, other)

    def unpatch(self, a: str, b: str) -> None:
        """Part two jacks: frames on their way and in queues are lost, both devices lose their carrier."""
        one, other = self._pair(a, b)
        # Down first: nothing is redirected to, or sent by, an interface that is down, so the patch ends here.
        self._set(False, one, other)
        self._route.do(
            [requests.delete_filters(place.index, f"filters at {place.jack.name}") for place in (one, other)]
        )
        one.mate = other.mate = None
        one.way = other.way = _Way()
        self._unsettled = True

    def set_carrier(self, a: str, b: str, up: bool) -> None:
        """Take the carrier from both devices of a patch, with all that is on its way, or give it back."""
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
        """What is wrong with the way from a's device to b's, in place of what was wrong with it before.

        Frames are lost before they wait for the rate; counted at `a` as from_dropped_filter. Where a delay
        comes or goes, what waits for the link is lost. TestbedError where the kernel cannot do it: then all
        is as before.
        """
        near, far = self._pair(a, b)
        _check_rate(rate_bps)
        if not 0.0 <= loss <= 1.0:
            raise TestbedError(f"a loss of {loss} from {a} to {b}", remedy="take a probability, 0 to 1")
        if not 0.0 <= delay_s <= _LONGEST_DELAY:
            raise TestbedError(
                f"a delay of {delay_s} s from {a} to {b}",
                remedy=f"take 0 to {_LONGEST_DELAY:g} s of real time",
            )
        way = replace(far.way, loss=1.0 if blocked else loss, impaired_rate_bps=rate_bps, delay_s=delay_s)
        kernel.need(*[kernel.TBF] * (way.rate is not None), *[kernel.NETEM] * (delay_s > 0))
        self._route.do([*self._lose(near, far, way), *self._lead(far, way)])

    def counters(self) -> Mapping[str, JackCounters]:
        """By name of the jack: frames since it was made."""
        names = {place.index: name for name, place in self._places.items()}
        return counters.read(self._route, names, self._kept_drops)

    def capture(self, jack: str, path: Path, record: RunRecord) -> subprocess.Popen[bytes]:
        """A tcpdump that writes what passes a jack in both directions; it runs when this returns.

        It sees what comes from the device before any of it is lost on purpose, and what the device is given.
        Times are in nanoseconds; every frame is in the file at once. End it with terminate().
        """
        return start_capture(self._namespace, self._place(jack).jack.interface, path, record)

    # -- requests

    def _settle(self) -> None:
        """Wait for what was sent into jacks that are parted now: it must not find a new patch."""
        if not self._unsettled:
            return
        if self._backlogs is None:
            self._backlogs = Backlogs(self._namespace, self._route, _PROBE_INDEX)
        self._backlogs.wait()
        self._unsettled = False

    def _set(self, up: bool, *places: _Place) -> None:
        how = "up" if up else "down"
        self._route.do(
            [requests.set_up(place.index, up, f"jack {place.jack.name}, {how}") for place in places]
        )

    def _redirect(self, one: _Place, other: _Place) -> list[Request]:
        return [
            requests.redirect(near.index, far.index, f"the way from {near.jack.name} to {far.jack.name}")
            for near, far in ((one, other), (other, one))
        ]

    def _lose(self, near: _Place, far: _Place, way: _Way) -> list[Request]:
        what = f"loss from {near.jack.name} to {far.jack.name}"
        if way.loss:
            return [requests.loss(near.index, way.loss, what)]
        return [requests.delete_filter(near.index, requests.LOSS, what)] if far.way.loss else []

    def _lead(self, place: _Place, way: _Way) -> list[Request]:
        """The queues into a jack; the place is as if the kernel had made them already."""
        what = f"rate and delay into {place.jack.name}"
        limited, delayed = way.rate is not None, way.delay_s > 0
        asked: list[Request] = []
        # A queue that only changes its rate keeps its frames; one of another kind takes its place.
        other_kind = place.delayed != delayed or (place.limited != limited and (delayed or not limited))
        if other_kind and (place.limited or place.delayed):
            self._keep_drops(place)
            asked.append(requests.delete_root(place.index, what))
        if delayed:
            asked.append(requests.delay(place.index, way.delay_s, _DELAYED_FRAMES, what))
        if way.rate is not None:
            asked.append(
                requests.rate_limit(
                    place.index, way.rate, place.jack.mtu, way.queue_bytes, what, delayed=delayed
                )
            )
        place.limited, place.delayed, place.way = limited, delayed, way
        return asked

    def _keep_drops(self, place: _Place) -> None:
        name = place.jack.name
        dropped = counters.queue_drops(self._route, place.index)
        self._kept_drops[name] = self._kept_drops.get(name, 0) + dropped

    # -- checks

    def _place(self, name: str) -> _Place:
        try:
            return self._places[name]
        except KeyError:
            raise TestbedError(
                f"there is no jack {name}", remedy=f"take one of the panel's {len(self._places)}"
            ) from None

    def _pair(self, a: str, b: str) -> tuple[_Place, _Place]:
        one, other = self._place(a), self._place(b)
        if one.mate != b:
            raise TestbedError(f"jacks {a} and {b} are not patched to each other", remedy="patch them first")
        return one, other

    def _check_new(self, jacks: Sequence[Jack]) -> None:
        names = set(self._places)
        interfaces = {(self._namespace, place.jack.interface) for place in self._places.values()}
        interfaces |= {(place.jack.namespace, place.jack.device_interface) for place in self._places.values()}
        for jack in jacks:
            if jack.name in names:
                raise TestbedError(f"two jacks {jack.name}", remedy="give each a name of its own")
            names.add(jack.name)
            sides = (self._namespace, jack.interface), (jack.namespace, jack.device_interface)
            for namespace, interface in sides:
                if not 0 < len(interface) <= _MAX_NAME or set(interface) & set("/ :%"):
                    raise TestbedError(
                        f"jack {jack.name}: interface name {interface!r}",
                        remedy=f"take 1 to {_MAX_NAME} characters without / : % and blanks",
                    )
                if (namespace, interface) in interfaces:
                    raise TestbedError(
                        f"jack {jack.name}: a second interface {interface} in {namespace}",
                        remedy="give each a name of its own",
                    )
                interfaces.add((namespace, interface))
            if not netns.exists(jack.namespace):
                raise TestbedError(
                    f"jack {jack.name}: network namespace {jack.namespace} does not exist",
                    remedy="make it with RunRecord.namespace()",
                )


def _check_rate(rate_bps: float | None) -> None:
    if rate_bps is not None and not rate_bps >= _LEAST_RATE:
        raise TestbedError(
            f"a rate of {rate_bps} bit/s", remedy=f"take {_LEAST_RATE} bit/s or more, or block the way"
        )
