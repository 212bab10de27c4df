# SPDX-License-Identifier: Apache-2.0
"""Captures of a link in virtual time."""

from pathlib import Path

import pytest

from tests.emulation.engine.wires import RATE, SIZE, Sink, at, chain, frame, numbered, pcap, steer, switches


def test_a_link_is_recorded_as_its_frames_begin_to_be_sent(tmp_path: Path) -> None:
    rate, delay = 8_000_000_000, 5_000_000  # a byte a nanosecond
    net, sinks = switches(2), (Sink(), Sink())
    link = net.connect(0, 2, 1, 2, rate, delay, 0)
    hosts = [net.attach_host(i, 3, RATE, 0, 0) for i in range(2)]
    for i in range(2):
        net.set_handler(hosts[i], sinks[i])
        steer(net, i, {10: (2, 3)})
    net.record(link, str(tmp_path / "both.pcap"))
    net.record(link, str(tmp_path / "there.pcap"), 0)
    net.record(link, str(tmp_path / "back.pcap"), 1)
    net.impair(link, 0, loss=0.5)
    for number in range(20):
        net.send(hosts[0], numbered(10, number), 0)
    at(net, 10**9, lambda: net.send(hosts[1], numbered(10, 99), 0))
    assert net.run() == 0
    there, back, both = (pcap(tmp_path / f"{name}.pcap") for name in ("there", "back", "both"))
    # SIZE picoseconds on the host's link, and then one after the other; what is lost has been sent as well.
    assert [time for time, _ in there] == [number * SIZE for number in range(20)]
    assert [int.from_bytes(data[1:5], "big") for _, data in there] == list(range(20))
    assert there[0][1] == frame(3, 1) + numbered(0, 0)[1:]  # as it left the switch
    assert 0 < len(sinks[1].seen) < 20
    assert back == [(10**6, there[0][1][:1] + numbered(0, 99)[1:])]
    assert both == there + back
    # What comes later is appended; after the end nothing is.
    net.send(hosts[1], numbered(10, 100), 0)
    net.run()
    assert len(pcap(tmp_path / "back.pcap")) == 2
    net.end_recordings()
    net.send(hosts[1], numbered(10, 101), 0)
    net.run()
    assert len(pcap(tmp_path / "back.pcap")) == 2
    assert len(sinks[0].seen) == 3


def test_a_recording_that_cannot_be_says_why(tmp_path: Path) -> None:
    net, _, _, (link,) = chain(2)
    with pytest.raises(OSError, match=r"nowhere.*No such file or directory"):
        net.record(link, str(tmp_path / "nowhere" / "x.pcap"))
    with pytest.raises(ValueError, match="link s0-s1 has no direction 2"):
        net.record(link, str(tmp_path / "x.pcap"), 2)
    assert not (tmp_path / "x.pcap").exists()
