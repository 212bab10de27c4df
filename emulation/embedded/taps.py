# SPDX-License-Identifier: Apache-2.0
"""TAP devices at the host ports of an embedded fabric, each in a network namespace of its own.

A program in the namespace of a host sends and receives by its interface eth0. The devices end with this
process, whatever ends it; the namespaces are recorded, and `railyard clean` removes those of a killed run.
"""

import os
import selectors
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial

from emulation.embedded.host_ports import HostPorts
from emulation.linux import netns
from emulation.linux.netlink import RouteSocket
from emulation.linux.record import RunRecord
from emulation.linux.requests import set_up
from emulation.linux.tap import open_tap

__all__ = ["INTERFACE", "taps"]

INTERFACE = "eth0"
"""Name of the interface in the namespace of each host."""

_MTU = 9000
_MAX_READ = 65536


@contextmanager
def taps(ports: HostPorts) -> Iterator[dict[str, str]]:
    """Make a TAP device for every host, and carry frames to and from it; yield the namespace of each host.

    Raises:
        MachineError: The process is not root, or the kernel has no TAP devices.
    """
    with ExitStack() as stack:
        record = stack.enter_context(RunRecord.create())
        namespaces = {name: record.namespace(name) for name in ports.names}
        devices: dict[str, int] = {}
        for name, namespace in namespaces.items():
            devices[name] = netns.inside(namespace, partial(open_tap, INTERFACE))
            stack.callback(os.close, devices[name])
            with closing(RouteSocket(namespace)) as route:
                index = netns.inside(namespace, partial(socket.if_nametoindex, INTERFACE))
                route.do([set_up(index, True, f"interface {INTERFACE} of {name}", mtu=_MTU)])
        stop = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        stack.callback(os.close, stop)
        reader = threading.Thread(target=_read, args=(ports, devices, stop), name="railyard-taps")
        reader.start()
        stack.callback(reader.join)
        stack.callback(os.eventfd_write, stop, 1)

        def write(host: str, _: int, frame: bytes) -> None:
            # The kernel refuses frames that are shorter than an Ethernet header or longer than the MTU.
            with suppress(OSError):
                os.write(devices[host], frame)

        stack.callback(ports.listen(ports.names, write))
        yield namespaces


def _read(ports: HostPorts, devices: dict[str, int], stop: int) -> None:
    """Pass frames from programs into the fabric, until the event `stop` is written."""
    with selectors.DefaultSelector() as selector:
        selector.register(stop, selectors.EVENT_READ)
        for host, device in devices.items():
            selector.register(device, selectors.EVENT_READ, host)
        while True:
            for key, _ in selector.select():
                if key.data is None:
                    return
                with suppress(BlockingIOError):
                    ports.send(key.data, os.read(key.fd, _MAX_READ))
