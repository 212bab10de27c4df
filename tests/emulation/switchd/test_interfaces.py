# SPDX-License-Identifier: Apache-2.0
"""Interfaces of railyard-switchd that go down, vanish and come back, or change their MTU."""

from tests.emulation.switchd.switchd_process import SwitchdProcess, on_interfaces, ports
from tests.emulation.switchd.wire_program import PROGRAM, frame_to


@on_interfaces
def test_a_port_goes_down_and_comes_back(process: SwitchdProcess) -> None:
    process.start(*ports(process), "--log-console", str(PROGRAM))
    for interface in ("s1", "h1"):  # the switch's own end, then the other: BMv2 stops at the first
        process.ip("link", "set", interface, "down")
        process.wait_for("port 2 is down")
        process.send(0, frame_to(2))
        process.send(0, frame_to(3))
        assert process.receive(2) == frame_to(3)
        process.ip("link", "set", interface, "up")
        process.wait_for("port 2 is up")
    process.add_far_end(1)
    process.send(0, frame_to(2, 90))
    assert process.receive(1) == frame_to(2, 90)


@on_interfaces
def test_a_port_that_is_down_at_the_start_comes_up(process: SwitchdProcess) -> None:
    process.ip("link", "set", "s1", "down")
    process.start(*ports(process), "--log-console", "--dump-packet-data", "2", str(PROGRAM))
    process.wait_for("port 2 is down")
    process.ip("link", "set", "s1", "up")
    process.wait_for("port 2 is up")
    process.add_far_end(1)
    process.send(0, frame_to(2, 90))
    assert process.receive(1) == frame_to(2, 90)
    assert process.wait_for("port 2 (s1): out, 90 bytes: 10 ")


@on_interfaces
def test_an_interface_vanishes_and_comes_back(process: SwitchdProcess) -> None:
    process.start(*ports(process), "--log-console", str(PROGRAM))
    process.ip("link", "delete", "s1")
    process.wait_for("port 2 is down")
    process.send(0, frame_to(2))
    process.send(0, frame_to(3))
    assert process.receive(2) == frame_to(3)
    process.add_link(1)
    process.wait_for("port 2 is up")
    process.send(0, frame_to(2, 90))
    assert process.receive(1) == frame_to(2, 90)


@on_interfaces
def test_a_raised_mtu_is_taken_up(process: SwitchdProcess) -> None:
    for interface in ("s0", "s1"):
        process.ip("link", "set", interface, "mtu", "1500")
    process.start(*ports(process), "--log-console", str(PROGRAM))
    process.ip("link", "set", "s0", "mtu", "9000")
    process.wait_for("port 1 ", "MTU is 9000")
    process.send(0, frame_to(2, 5000))  # the kernel brings none to an interface that is longer than its MTU
    assert "5000 bytes" in process.wait_for("port 2 ", "does not fit the MTU of 1500")
    process.ip("link", "set", "s1", "mtu", "9000")
    process.wait_for("port 2 ", "MTU is 9000")
    process.send(0, frame_to(2, 5000))
    assert process.receive(1) == frame_to(2, 5000)
