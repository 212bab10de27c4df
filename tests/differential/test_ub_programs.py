# SPDX-License-Identifier: Apache-2.0
"""The UB programs on the engine and on BMv2: what the wire format names, every turn, seeded random frames."""

from collections.abc import Iterator

import pytest

from tests.differential.differential import Differential, Frame
from tests.emulation.programs.ub_frames import Srh, UbFrame, instructions
from tests.emulation.programs.ub_random import random_frames
from tests.emulation.programs.ub_reference import BELOW, CPU_PORT, GPUS, ROUTERS, SPREAD, Router, packet_out

pytestmark = pytest.mark.bmv2

INSTR = instructions(3, 10, 5, 7, 11, 2)
OWN_CNA = 9
# One of every kind: a switch's many ports to below are alike.
TURNS = (0, 1, 2, 8, 9, 16, 17, 19, 72, 128, 255)


@pytest.fixture(scope="module", params=ROUTERS, ids=lambda router: router.program)
def router(request: pytest.FixtureRequest) -> Router:
    return request.param


@pytest.fixture(scope="module")
def pair(router: Router, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Differential]:
    directory = tmp_path_factory.mktemp("bmv2")
    with Differential(router.files, router.entries, ports=router.ports, directory=directory) as pair:
        yield pair


def numbered(frames: list[tuple[int, UbFrame]]) -> list[Frame]:
    """Made distinct by a number in the payload."""
    return [
        (port, frame.but(payload=n.to_bytes(4) + frame.payload).packed())
        for n, (port, frame) in enumerate(frames)
    ]


def test_source_routes(pair: Differential) -> None:
    bitmaps = [0b110100000000, 0b010100000000, 0b111110000001, 0, 0b111111000000, 0b111111100000, 0xFFF]
    frames = [
        (1, UbFrame(dcna, srh=Srh(ptr, bitmap, INSTR)))
        for dcna in (OWN_CNA, 0x0A, 0x3F, 0x40)
        for bitmap in bitmaps
        for ptr in range(16)
    ]
    frames += [
        (1, UbFrame(OWN_CNA, srh=Srh(0, 0x800, instructions(port)))) for port in (0, 14, 15, 18, 72, 128, 255)
    ]
    assert pair.differences(numbered(frames)) == []


def test_malformed_frames(pair: Differential) -> None:
    frames = [(1, UbFrame(OWN_CNA, cfg=cfg)) for cfg in range(16)]
    frames += [(1, UbFrame(OWN_CNA, ethertype=ethertype)) for ethertype in (0x88B4, 0x88B6, 0xFFFF)]
    frames += [(15, UbFrame(OWN_CNA))]
    assert pair.differences(numbered(frames)) == []


@pytest.mark.parametrize("srh", [None, Srh(2, 0xC00, INSTR)], ids=["NTH", "SRH"])
def test_truncated_at_every_length(pair: Differential, srh: Srh | None) -> None:
    whole = UbFrame(OWN_CNA, srh=srh, payload=bytes(range(36))).packed()
    assert pair.differences([(1, whole[:length]) for length in range(63)]) == []
    sent = packet_out(whole)
    assert pair.differences([(CPU_PORT, sent[:length]) for length in range(2, 65)]) == []


def test_length_is_kept_true_at_source_and_sink(pair: Differential) -> None:
    frames = [
        (port, UbFrame(dcna, srh=srh, mgmt=mgmt, payload=bytes(size)))
        for port, dcna, srh in [(0, 0x00, None), (1, OWN_CNA, Srh(5, 0xC00, INSTR))]
        for mgmt in (0, 1)
        for size in (
            0,
            1,
            7,
            8,
            9,
            16,
            20,
            612,
            613,
            619,
            620,
            621,
            628,
            1252,
            5000,
            10209,
            10216,
            10217,
            10224,
        )
    ]
    assert pair.differences(numbered(frames)) == []


def test_every_turn_on_every_vl(pair: Differential, router: Router) -> None:
    frames = [
        (into, UbFrame(0x3F, vl=vl, mgmt=mgmt, srh=Srh(0, 0x800, instructions(out))))
        for into in TURNS
        if into <= router.last_port
        for out in TURNS
        for vl in range(16)
        for mgmt in (0, 1)
    ]
    assert pair.differences(numbered(frames)) == []


def test_tables_lead_to_every_rack(pair: Differential) -> None:
    frames = [(1, UbFrame(2 << 13 | rack << 6 | 0x15)) for rack in range(128)]
    assert pair.differences(numbered(frames)) == []


def test_every_domain_and_rank(pair: Differential, router: Router) -> None:
    ports = {0, 1, 17, min(router.last_port, 256)} - ({0} if not router.has_host else set())
    frames = [
        (port, UbFrame(first | domain << 3 | rank))
        for port in ports
        for first in (GPUS, BELOW, BELOW | 1 << 11)
        for domain in (*range(0, 256, 8), 4, 5, 6, 199, 201, 221, 239, 241, 250)
        for rank in range(8)
    ]
    assert pair.differences(numbered(frames)) == []


@pytest.mark.parametrize("lb_mode", [0, 1])
def test_ways_of_a_group(pair: Differential, lb_mode: int) -> None:
    flows = [(scna, lb) for scna in (0, 1, 0xFFFF, 0x1234) for lb in range(0, 256, 5)]
    frames = [
        (1, UbFrame(dcna, scna=scna, lb=lb, lb_mode=lb_mode))
        for dcna in (SPREAD | 77, BELOW | 210 << 3 | 3, BELOW | 230 << 3 | 3)
        for scna, lb in flows
    ]
    assert pair.differences(numbered(frames)) == []


def test_controller_packets(pair: Differential, router: Router) -> None:
    inward = [
        (port, UbFrame(OWN_CNA, mgmt=1, srh=srh))
        for port in router.departures
        for srh in (None, Srh(3, 0xC00, INSTR))
    ]
    frames = numbered(inward)
    for number, (egress_port, routed) in enumerate(
        (port, routed) for port in (*router.ports, CPU_PORT, 511) for routed in (0, 1)
    ):
        payload = number.to_bytes(4)
        for frame in (
            UbFrame(0x00, mgmt=1, payload=payload),
            UbFrame(0x3F, srh=Srh(1, 0xD00, INSTR), payload=payload),
        ):
            frames.append((CPU_PORT, packet_out(frame.packed(), egress_port=egress_port, routed=routed)))
    assert pair.differences(frames) == []


@pytest.mark.parametrize("seed", range(3))
def test_random_frames(pair: Differential, router: Router, seed: int) -> None:
    assert pair.differences(random_frames(router, 1500, seed)) == []
