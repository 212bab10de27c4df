# SPDX-License-Identifier: Apache-2.0
"""Requests to the kernel by several threads."""

import threading

import pytest

from emulation.linux import netns, requests
from emulation.linux.netlink import RouteSocket
from tests.emulation.mininet.benches import no_rights

reason = no_rights()
pytestmark = pytest.mark.skipif(bool(reason), reason=reason)

SECONDS = 120.0


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
