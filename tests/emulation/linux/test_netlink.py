# SPDX-License-Identifier: Apache-2.0
"""Requests to the kernel by several threads."""

import os
import struct
import threading

import pytest

from emulation.linux import netns, requests
from emulation.linux.netlink import RouteSocket
from tests.emulation.mininet.benches import no_rights

reason = no_rights()
pytestmark = pytest.mark.skipif(bool(reason), reason=reason)

SECONDS = 120.0
LINK = struct.Struct("=BxHiII")


def veth(number: int, namespace: int) -> tuple[requests.Request, int]:
    """Return the request for a veth pair in `namespace`, and the index of one side."""
    inner = requests.Side(1000 + number, f"a{number}", 1500)
    device = requests.Side(2000 + number, f"b{number}", 1500)
    return requests.veth(inner, device, namespace, f"veth pair {number}"), inner.index


def test_threads_that_share_a_socket_get_their_own_answers() -> None:
    route = netns.inside_new(RouteSocket)
    interfaces = len(route.dump(requests.link_dump()))
    answers: list[int] = []

    def ask() -> None:
        answers.extend(len(route.dump(requests.link_dump())) for _ in range(500))

    # Daemons: without turns, a thread waits for ever for the answer that another has read.
    threads = [threading.Thread(target=ask, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert answers == [interfaces] * 2000
    route.close()


def test_a_dump_lacks_no_interface_while_others_come_and_go() -> None:
    route, other, namespace = netns.inside_new(
        lambda: (RouteSocket(), RouteSocket(), os.open("/proc/thread-self/ns/net", os.O_RDONLY))
    )
    stay = [veth(number, namespace) for number in range(200)]
    come = [veth(number, namespace) for number in range(200, 220)]
    route.do([request for request, _ in stay])
    done = threading.Event()

    def change() -> None:
        while not done.is_set():
            other.do([request for request, _ in come])
            other.do([requests.delete_link(index, "an interface") for _, index in come])

    changing = threading.Thread(target=change, daemon=True)
    changing.start()
    try:
        for _ in range(100):
            seen = {LINK.unpack_from(content)[2] for _, content in route.dump(requests.link_dump())}
            assert {index for _, index in stay} <= seen
    finally:
        done.set()
        changing.join(SECONDS)
        route.close()
        other.close()
        os.close(namespace)
