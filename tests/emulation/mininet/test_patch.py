# SPDX-License-Identifier: Apache-2.0
"""The patch panel: frames cross where they are patched, and nowhere else."""

import math
import shutil
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulation.errors import TestbedError
from emulation.mininet.linux import kernel, netns
from emulation.mininet.linux.requests import threshold
from emulation.mininet.patch import Jack, PatchPanel
from tests.emulation.mininet.benches import MTU, Bench, frame, no_rights, number, until

reason = no_rights()
pytestmark = pytest.mark.skipif(bool(reason), reason=reason)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with Bench(6, tmp_path) as bench:
        yield bench


# -- frames


def test_frames_cross_as_they_are(bench: Bench) -> None:
    bench.patch(0, 1)
    sizes = (60, 64, 1514, 9000, MTU + 14)
    for length in sizes:
        bench.send(0, frame(length, length))
        bench.send(1, frame(length + 1, length))
    assert bench.receive(1, len(sizes)) == [frame(length, length) for length in sizes]
    assert bench.receive(0, len(sizes)) == [frame(length + 1, length) for length in sizes]


def test_patches_do_not_hear_of_each_other(bench: Bench) -> None:
    bench.patch(0, 1)
    bench.patch(2, 3)
    bench.send(0, *map(frame, range(100)))
    bench.send(3, *map(frame, range(100, 200)))
    assert [number(one) for one in bench.receive(1, 100)] == list(range(100))
    assert [number(one) for one in bench.receive(2, 100)] == list(range(100, 200))
    assert [bench.rest(device, 0.05) for device in (0, 1, 2, 3)] == [[]] * 4


def test_links_say_nothing_of_themselves(bench: Bench) -> None:
    bench.patch(0, 1)
    assert [bench.rest(device, 0.6) for device in (0, 1)] == [[], []]


def test_a_jack_has_a_carrier_while_it_is_patched(bench: Bench) -> None:
    assert bench.carriers() == set()
    bench.patch(0, 1)
    bench.patch(2, 3)
    bench.panel.unpatch("j0", "j1")
    until(lambda: bench.carriers() == {"d2", "d3"})
    bench.panel.set_carrier("j3", "j2", False)
    until(lambda: bench.carriers() == set())
    bench.panel.set_carrier("j2", "j3", True)
    until(lambda: bench.carriers() == {"d2", "d3"})
    bench.send(2, frame(7))
    assert bench.receive(3, 1) == [frame(7)]


def test_what_waits_for_a_link_is_gone_with_it(bench: Bench) -> None:
    bench.patch(0, 1, rate_bps=1e6)
    bench.send(0, *(frame(i, 1000) for i in range(200)))
    assert bench.panel.counters()["j1"].waiting_frames > 150
    bench.panel.unpatch("j0", "j1")
    bench.rest(1, 0.05)
    bench.patch(1, 2)
    bench.patch(0, 3)
    assert bench.panel.counters()["j1"].waiting_frames == 0
    assert [bench.rest(device) for device in (1, 2, 3)] == [[]] * 3


# -- impairments


def test_loss_takes_its_share_in_one_direction(bench: Bench) -> None:
    bench.patch(0, 1)
    share, count = 0.25, 6000
    bench.panel.impair("j0", "j1", loss=share)
    for first in range(0, count, 500):
        bench.send(0, *map(frame, range(first, first + 500)))
        bench.send(1, *map(frame, range(first, first + 500)))
    assert len(bench.receive(0, count)) == count
    arrived = bench.rest(1, 0.2)
    lost = count - len(arrived)
    assert abs(lost - share * count) < 5 * math.sqrt(count * share * (1 - share))
    counted = bench.panel.counters()
    assert counted["j0"].from_dropped_filter == lost
    assert counted["j1"].from_dropped_filter == 0
    bench.panel.impair("j0", "j1")
    bench.send(0, frame(1))
    assert bench.receive(1, 1) == [frame(1)]


@pytest.mark.parametrize("how", [{"blocked": True}, {"loss": 1.0}])
def test_a_blocked_way_keeps_its_carrier(bench: Bench, how: dict[str, float]) -> None:
    bench.patch(0, 1)
    bench.panel.impair("j1", "j0", **how)  # type: ignore[arg-type]
    bench.send(1, *map(frame, range(500)))
    bench.send(0, *map(frame, range(500)))
    assert len(bench.receive(1, 500)) == 500
    assert bench.rest(0) == []
    assert bench.carriers() == {"d0", "d1"}
    assert bench.panel.counters()["j1"].from_dropped_filter == 500


def test_a_new_patch_is_sound(bench: Bench) -> None:
    bench.patch(0, 1, rate_bps=1e5)
    bench.panel.impair("j0", "j1", blocked=True, rate_bps=1e4)
    bench.panel.unpatch("j0", "j1")
    bench.patch(0, 1)
    bench.send(0, *(frame(i, 1000) for i in range(100)))
    assert len(bench.receive(1, 100, 1.0)) == 100


@pytest.mark.parametrize("rate", [2e6, 20e6])
def test_a_link_keeps_to_its_rate(bench: Bench, rate: float) -> None:
    bench.patch(0, 1, rate_bps=rate, queue_bytes=4 << 20)
    size = 1000
    count = int(rate * 0.5 / 8 / size)
    bench.send(0, *(frame(i, size) for i in range(count)))
    began = time.monotonic()
    assert len(bench.receive(1, count)) == count
    # The bucket is full at the beginning: one large frame goes at once.
    assert (time.monotonic() - began) * rate / 8 / size == pytest.approx(count - MTU / size, rel=0.1)


def test_a_change_of_rate_keeps_what_waits(bench: Bench) -> None:
    bench.patch(0, 1, rate_bps=1e6)
    bench.send(0, *(frame(i, 1000) for i in range(300)))
    bench.panel.impair("j0", "j1", rate_bps=2e6)
    bench.panel.impair("j0", "j1", loss=0.5, rate_bps=50e6)
    bench.panel.impair("j0", "j1")
    bench.panel.impair("j0", "j1", rate_bps=100e6)
    assert [number(one) for one in bench.receive(1, 300, 2.0)] == list(range(300))


def test_a_full_queue_drops_and_counts(bench: Bench) -> None:
    bench.patch(0, 1, rate_bps=1e6, queue_bytes=20_000)
    bench.send(0, *(frame(i, 1000) for i in range(100)))
    arrived = len(bench.rest(1, 0.6))
    counted = bench.panel.counters()
    assert counted["j0"].from_frames == 100
    assert counted["j0"].from_bytes == 100_000
    assert counted["j1"].to_frames == arrived
    assert counted["j1"].to_dropped_queue == 100 - arrived > 50
    bench.panel.unpatch("j0", "j1")
    bench.patch(0, 1)  # without a rate: the queue is gone, what it dropped is not forgotten
    assert bench.panel.counters()["j1"].to_dropped_queue == 100 - arrived


def test_delay_or_the_name_of_what_is_missing(bench: Bench) -> None:
    bench.patch(0, 1, rate_bps=1e9)
    if kernel.NETEM in kernel.missing():
        with pytest.raises(TestbedError, match=r"sch_netem \(CONFIG_NET_SCH_NETEM\).*linux-modules-extra"):
            bench.panel.impair("j0", "j1", loss=1.0, delay_s=0.05)
        bench.send(0, frame(1))  # and nothing has changed
        assert bench.receive(1, 1) == [frame(1)]
        return
    bench.panel.impair("j0", "j1", delay_s=0.05)
    for _ in range(3):
        began = time.monotonic()
        bench.send(0, frame(1))
        assert bench.receive(1, 1) == [frame(1)]
        assert 0.05 <= time.monotonic() - began < 0.1


@pytest.mark.parametrize(
    ("probability", "limit"),
    [(1.0, 0), (0.5, 1 << 31), (0.25, 3 << 30), (1e-12, (1 << 32) - 1), (2.0**-32, (1 << 32) - 1)],
)
def test_probability_as_a_threshold(probability: float, limit: int) -> None:
    assert threshold(probability) == limit


# -- what cannot be


def test_errors_name_the_jack(bench: Bench) -> None:
    panel = bench.panel
    bench.patch(0, 1)
    for call, said in (
        (lambda: panel.patch("j0", "j2"), "j0 is patched to j1"),
        (lambda: panel.patch("j2", "j2"), "j2 cannot be patched to itself"),
        (lambda: panel.patch("j2", "nobody"), "no jack nobody"),
        (lambda: panel.patch("j2", "j3", rate_bps=0), "rate of 0 bit/s"),
        (lambda: panel.patch("j2", "j3", rate_bps=1e6, queue_bytes=100), "queue of 100 bytes"),
        (lambda: panel.unpatch("j0", "j2"), "j0 and j2 are not patched"),
        (lambda: panel.impair("j0", "j1", loss=1.5), "loss of 1.5"),
        (lambda: panel.impair("j0", "j1", delay_s=-1), "delay of -1"),
        (lambda: panel.set_carrier("j2", "j3", False), "j2 and j3 are not patched"),
    ):
        with pytest.raises(TestbedError, match=said):
            call()


@pytest.mark.parametrize(
    ("jack", "said"),
    [
        (("j0", "x", "", "x", 1500), "two jacks j0"),
        (("x", "p0", "", "x", 1500), "second interface p0"),
        (("x", "x", "", "d0", 1500), "second interface d0"),
        (("x", "interface-name-x", "", "x", 1500), "interface-name-x"),
        (("x", "x", "railyard-none", "x", 1500), "railyard-none does not exist"),
        (("x", "x", "", "x", 10), "x in .*: Invalid argument"),
    ],
)
def test_jacks_that_cannot_be(bench: Bench, jack: tuple[str, str, str, str, int], said: str) -> None:
    name, interface, namespace, device_interface, mtu = jack
    before = bench.panel.counters()
    with pytest.raises(TestbedError, match=said):
        bench.panel.add(
            [
                Jack("y", "y", bench.devices, "y", 1500),
                Jack(name, interface, namespace or bench.devices, device_interface, mtu),
            ]
        )
    assert bench.panel.counters() == before
    bench.panel.add([Jack("x", "x", bench.devices, "x", 1500)])
    bench.panel.patch("x", "j1")


def test_a_thousand_jacks(bench: Bench) -> None:
    began = time.monotonic()
    bench.panel.add([Jack(f"k{i}", f"k{i}", bench.devices, f"k{i}", MTU) for i in range(1000)])
    added = time.monotonic()
    for i in range(0, 1000, 2):
        bench.panel.patch(f"k{i}", f"k{i + 1}", rate_bps=20e6)
    patched = time.monotonic()
    assert len(bench.panel.counters()) == 1006
    counted = time.monotonic()
    until(lambda: len(bench.carriers()) == 1000)
    closing = time.monotonic()
    bench.panel.close()
    closed = time.monotonic()
    print(
        f"1000 jacks {added - began:.3f} s, 500 patches {patched - added:.3f} s, "
        f"counters {counted - patched:.3f} s, removal {closed - closing:.3f} s"
    )
    # Ten times what an idle machine takes: requests one by one take longer.
    assert closed - began < 15
    names = netns.inside(bench.devices, socket.if_nameindex)
    assert [name for _, name in names] == ["lo"]


def test_closing_twice(bench: Bench) -> None:
    bench.panel.close()
    bench.panel.close()


def test_a_panel_of_a_namespace_that_is_not_there() -> None:
    with pytest.raises(TestbedError, match="railyard-none does not exist"):
        PatchPanel("railyard-none")


# -- capture


@pytest.mark.skipif(shutil.which("tcpdump") is None, reason="tcpdump is not installed")
def test_a_capture_has_both_directions(bench: Bench, tmp_path: Path) -> None:
    bench.patch(0, 1)
    bench.panel.impair("j0", "j1", blocked=True)
    path = tmp_path / "link.pcap"
    tcpdump = bench.panel.capture("j0", path, bench.record)
    bench.send(0, frame(1), frame(2))
    bench.send(1, frame(3))
    bench.receive(0, 1)
    until(lambda: len(_frames(path)) == 3)
    assert sorted(number(one) for one in _frames(path)) == [1, 2, 3]
    assert bench.rest(1, 0.05) == []
    tcpdump.terminate()
    tcpdump.wait()


def test_a_capture_that_cannot_be(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("tcpdump"):
        with pytest.raises(TestbedError, match="nowhere"):
            bench.panel.capture("j0", tmp_path / "nowhere" / "x.pcap", bench.record)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(TestbedError, match="install the package tcpdump"):
        bench.panel.capture("j0", tmp_path / "x.pcap", bench.record)


def _frames(path: Path) -> list[bytes]:
    data = path.read_bytes()
    assert struct.unpack_from("<I", data)[0] == 0xA1B23C4D  # times in nanoseconds
    found, at = [], 24
    while at + 16 <= len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        found.append(data[at + 16 : at + 16 + length])
        at += 16 + length
    return found
