# SPDX-License-Identifier: Apache-2.0
"""A full lossless fabric: two VLs with T2-G deliver all, one VL and any order stops on a real cycle."""

import pytest
from scapy.layers.l2 import Ether

from controller.errors import PlanError
from emulation.errors import FrameError
from emulation.traffic.frames.layers import LPH, NTH, SRH
from emulation.traffic.host.saturate import LEAST_BYTES, steered_frame
from harness.run import saturation
from harness.run.saturation import saturate
from tests.oracle import saturator
from topologies import full_mesh, torus, ub_rack


@pytest.mark.long
def test_two_vls_deliver_two_hundred_thousand_frames_over_all_paths_of_a_rack() -> None:
    shares: list[float] = []
    result = saturate(ub_rack(), "T2-G", 200_000, progress=shares.append)
    assert result.paths == 896 + 11_648 + 146_048
    assert (result.cycle, result.sent, result.received) == ((), 200_000, 200_000)
    # Of the paths, 92 in 100 have three hops; each hop and the source's own switch is a pass.
    assert 3.8 < result.hops / result.received < 4
    assert shares == sorted(shares)
    assert 0 < shares[-1] <= 1


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_one_vl_stops_on_a_cycle(seed: int) -> None:
    mesh = full_mesh((4, 4))
    result = saturate(mesh, "single-vl", 100_000, seed=seed)
    assert result.received < result.sent < 100_000
    assert len(result.cycle) >= 3
    ends = [way.split("->") for _, way, _ in result.cycle]
    assert [end for _, end in ends] == [begin for begin, _ in ends[1:] + ends[:1]]
    assert {vl for _, _, vl in result.cycle} == {0}
    assert saturate(mesh, "T2-G", 20_000, seed=seed).received == 20_000


def test_a_torus_stops_by_the_naive_rule_and_not_by_ranks() -> None:
    fabric = torus((4, 4))
    result = saturate(fabric, "single-vl", 50_000)
    assert result.received < 50_000
    hops = [way.split("->") for _, way, _ in result.cycle]
    assert all(fabric.link_between(*hop) for hop in hops)
    assert [end for _, end in hops] == [begin for begin, _ in hops[1:] + hops[:1]]
    assert saturate(fabric, "T2-G", 10_000).received == 10_000


def test_the_same_seed_gives_the_same_run() -> None:
    mesh = full_mesh((4,))
    assert saturate(mesh, "T2-G", 3_000, seed=7) == saturate(mesh, "T2-G", 3_000, seed=7)
    assert saturate(mesh, "T2-G", 3_000, seed=7).at_ps != saturate(mesh, "T2-G", 3_000, seed=8).at_ps


def test_a_steered_frame_says_what_it_is_told() -> None:
    frame = Ether(steered_frame(0x0102, 0x0304, [9, 200, 0], 100))
    assert len(bytes(frame)) == 100
    assert (frame.src, frame.dst) == ("02:00:00:00:01:02", "02:00:00:00:03:04")
    assert (frame[SRH].ptr, frame[SRH].bitmap, frame[SRH].instr) == (0, 0xE00, [9, 200, 0, 0, 0, 0])
    assert (frame[NTH].scna, frame[NTH].dcna) == (0x0102, 0x0304)
    whole = bytes(frame[LPH])
    frame[LPH].length = None
    assert bytes(frame[LPH]) == whole


def test_frames_that_cannot_be_are_refused() -> None:
    with pytest.raises(
        FrameError, match=f"a frame of 20 bytes is too short for its headers; give {LEAST_BYTES}"
    ):
        steered_frame(1, 2, [1], 20)
    with pytest.raises(PlanError, match="the route steers 7 hops"):
        steered_frame(1, 2, [1] * 7, 100)


@pytest.mark.parametrize(("rules", "frames"), [("single-vl", 100_000), ("T2-G", 5_000)])
def test_hosts_in_python_and_in_cpp_send_the_same_frames(
    rules: str, frames: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    native = saturate(full_mesh((4, 4)), rules, frames, seed=4)
    for name in ("Budget", "Saturator"):
        monkeypatch.setattr(saturation, name, getattr(saturator, name))
    python = saturate(full_mesh((4, 4)), rules, frames, seed=4)
    assert native == python
    assert native.hops > 100
