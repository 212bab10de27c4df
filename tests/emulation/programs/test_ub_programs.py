# SPDX-License-Identifier: Apache-2.0
"""The compiled UB programs on the engine: the vectors of the wire format, and random frames.

The vectors have explicit outputs, the random frames are compared with a second implementation in Python.
`tests/differential` runs the same on BMv2.
"""

from collections import Counter

import pytest

from controller.forwarding.pipeline import DropReason
from tests.emulation.programs.standing import Standing, installed, only, router
from tests.emulation.programs.ub_frames import Srh, UbFrame, coded_length, instructions
from tests.emulation.programs.ub_random import random_frames
from tests.emulation.programs.ub_reference import CPU_PORT, HRS, LRS, NPU, RAIL, Router, next_vl, packet_out

__all__ = ["installed", "router"]  # fixtures

OWN_CNA = 9
# Instructions of the vectors: port 3 for the first, 10 the second, 5 the third; 7, 11 and 2 must not be used.
INSTR = instructions(3, 10, 5, 7, 11, 2)


class TestSourceRoute:
    # bitmap 1,1,0,1: instructions 0, 1, the table (dcna 0x0a is x = 2: port 2), 2, then tables to the end.
    @pytest.mark.parametrize(
        ("ptr", "port"), [(0, 3), (1, 10), (2, 2), (3, 5), *((ptr, 2) for ptr in range(4, 12))]
    )
    def test_bitmap_1101_uses_instructions_0_1_table_2(self, router: Standing, ptr: int, port: int) -> None:
        arrived = UbFrame(0x0A, srh=Srh(ptr, 0b110100000000, INSTR))
        assert router(1, arrived.packed()) == [
            (port, arrived.but(srh=Srh(ptr + 1, 0b110100000000, INSTR)).packed())
        ]

    @pytest.mark.parametrize(
        ("ptr", "bitmap", "port"),
        [
            (3, 0b010100000000, 10),  # hops 1 and 3 are steered: instruction 1
            (11, 0b111110000001, 2),  # the sixth instruction, on the last hop
            (11, 0b000000000001, 3),
            (5, 0b000001111110, 3),
            (10, 0b000001111110, 2),
        ],
    )
    def test_instruction_is_the_count_of_bits_before(
        self, router: Standing, ptr: int, bitmap: int, port: int
    ) -> None:
        arrived = UbFrame(0x24, srh=Srh(ptr, bitmap, INSTR))
        assert router(1, arrived.packed()) == [(port, arrived.but(srh=Srh(ptr + 1, bitmap, INSTR)).packed())]

    def test_sink_strips_the_route(self, router: Standing) -> None:
        arrived = UbFrame(OWN_CNA, vl=1, srh=Srh(2, 0b110000000000, INSTR))
        assert router.keeps(2, arrived, arrived.but(srh=None))

    def test_instruction_0_delivers_here_whatever_the_address(self, router: Standing) -> None:
        arrived = UbFrame(0x3F, srh=Srh(0, 0b100000000000, instructions(0)))
        assert router.keeps(2, arrived, arrived.but(srh=None))


class TestTables:
    @pytest.mark.parametrize(
        ("dcna", "port"),
        [(0x08, 1), (0x0A, 2), (0x0F, 7), (0x00, 8), (0x07, 8), (0x10, 9), (0x3F, 14)],
    )
    def test_linear_lookup(self, router: Standing, dcna: int, port: int) -> None:
        arrived = UbFrame(dcna, lb=0xFF if dcna != 0x0A else 0)
        assert router.from_own_side(arrived) == [(port, arrived.packed())]

    def test_own_address(self, router: Standing) -> None:
        arrived = UbFrame(OWN_CNA)
        assert router.keeps(1, arrived, arrived)

    @pytest.mark.parametrize("dcna", [0x40, 0x2009, 0xFFFF])
    def test_no_route(self, router: Standing, dcna: int) -> None:
        assert router.from_own_side(UbFrame(dcna)) == []
        assert router.dropped() == {DropReason.NO_ROUTE: 1}


@only[NPU]
class TestSource:
    def test_all_path_pushes_a_route_by_destination_and_bucket(self, router: Standing) -> None:
        arrived = UbFrame(0x00, lb=0xA0)
        pushed = arrived.but(srh=Srh(1, 0b110000000000, instructions(1, 8)))
        assert router(0, arrived.packed()) == [(1, pushed.packed())]
        arrived = UbFrame(0x00, lb=0xA1)
        pushed = arrived.but(srh=Srh(1, 0b110000000000, instructions(8, 1)))
        assert router(0, arrived.packed()) == [(8, pushed.packed())]

    def test_first_hop_may_be_the_tables(self, router: Standing) -> None:
        arrived = UbFrame(0x25, lb=2)
        assert router(0, arrived.packed()) == [(11, arrived.but(srh=Srh(1, 0x400, instructions(4))).packed())]

    def test_transit_frames_get_no_route(self, router: Standing) -> None:
        arrived = UbFrame(0x00, lb=0)
        assert router(4, arrived.packed()) == [(8, arrived.packed())]

    def test_a_route_of_the_sender_stays(self, router: Standing) -> None:
        arrived = UbFrame(0x00, lb=0, srh=Srh(0, 0x800, instructions(12)))
        assert router(0, arrived.packed()) == [
            (12, arrived.but(srh=Srh(1, 0x800, instructions(12))).packed())
        ]


class TestLength:
    # Bytes from the LPH to the end without SRH: around a flit, a block, and the longest packet.
    SIZES = (12, 13, 20, 32, 33, 40, 631, 632, 633, 640, 641, 1272, 1273, 5000, 10232)

    @pytest.mark.parametrize("size", SIZES)
    @only[NPU]
    def test_stays_true_when_a_route_is_pushed_and_stripped(self, router: Standing, size: int) -> None:
        plain = UbFrame(0x00, payload=bytes(size - 12), length=coded_length(size))
        routed = plain.but(srh=Srh(1, 0xC00, instructions(1, 8)), length=coded_length(size + 8))
        assert router(0, plain.packed()) == [(1, routed.packed())]
        arrived = routed.but(dcna=OWN_CNA, srh=Srh(5, 0xC00, instructions(1, 8)))
        assert router(1, arrived.packed()) == [(0, plain.but(dcna=OWN_CNA).packed())]

    @pytest.mark.parametrize("size", SIZES)
    def test_stays_true_when_a_route_is_stripped_for_the_controller(
        self, router: Standing, size: int
    ) -> None:
        kept = UbFrame(OWN_CNA, vl=2, mgmt=1, payload=bytes(size - 12), length=coded_length(size))
        arrived = kept.but(srh=Srh(5, 0xC00, instructions(1, 8)), length=coded_length(size + 8))
        assert router(1, arrived.packed()) == [(CPU_PORT, (1 << 7).to_bytes(2) + kept.packed())]

    @only[NPU]
    @pytest.mark.parametrize("size", [10233, 10240])
    def test_no_room_for_a_route(self, router: Standing, size: int) -> None:
        assert router(0, UbFrame(0x00, payload=bytes(size - 12)).packed()) == []
        assert router.dropped() == {DropReason.LENGTH: 1}

    @pytest.mark.parametrize("size", [1, 8])
    def test_shorter_than_the_route_it_carries(self, router: Standing, size: int) -> None:
        arrived = UbFrame(OWN_CNA, mgmt=1, srh=Srh(5, 0, 0), length=coded_length(size))
        assert router(1, arrived.packed()) == []
        assert router.dropped() == {DropReason.LENGTH: 1}


class TestMalformed:
    def refused(self, router: Standing, port: int, frame: bytes, reason: DropReason) -> None:
        assert router(port, frame) == []
        assert router.dropped() == {reason: 1}

    @pytest.mark.parametrize("cfg", [value for value in range(16) if value not in (0x6, 0xC)])
    def test_unknown_cfg(self, router: Standing, cfg: int) -> None:
        self.refused(router, 1, UbFrame(OWN_CNA, cfg=cfg).packed(), DropReason.CFG)

    @pytest.mark.parametrize("ethertype", [0, 0x0800, 0x88B4, 0x88B6])
    def test_other_ethertype(self, router: Standing, ethertype: int) -> None:
        self.refused(router, 1, UbFrame(OWN_CNA, ethertype=ethertype).packed(), DropReason.ETHERTYPE)

    @pytest.mark.parametrize("bitmap", [0b111111100000, 0b000001111111, 0b101010101011, 0b111111111111])
    @pytest.mark.parametrize("ptr", [0, 6, 11])
    def test_seven_instructions(self, router: Standing, bitmap: int, ptr: int) -> None:
        self.refused(
            router, 1, UbFrame(OWN_CNA, srh=Srh(ptr, bitmap, INSTR)).packed(), DropReason.INSTRUCTIONS
        )

    @pytest.mark.parametrize("ptr", [12, 13, 14, 15])
    @pytest.mark.parametrize("bitmap", [0, 0x800])
    def test_pointer_past_11(self, router: Standing, ptr: int, bitmap: int) -> None:
        self.refused(router, 1, UbFrame(OWN_CNA, srh=Srh(ptr, bitmap, INSTR)).packed(), DropReason.HOPS)

    @pytest.mark.parametrize("port", [15, 18, 255])
    def test_port_that_does_not_exist(self, router: Standing, port: int) -> None:
        if port not in router.tables.departures:
            arrived = UbFrame(OWN_CNA, srh=Srh(0, 0x800, instructions(port)))
            self.refused(router, 1, arrived.packed(), DropReason.NO_PORT)

    def test_arrival_on_an_unknown_port(self, router: Standing) -> None:
        self.refused(router, 15, UbFrame(OWN_CNA).packed(), DropReason.ARRIVAL)

    @pytest.mark.parametrize(
        "whole", [UbFrame(0x0A), UbFrame(0x0A, srh=Srh(2, 0xC00, INSTR))], ids=["NTH", "SRH"]
    )
    def test_truncated_at_every_length(self, router: Standing, whole: UbFrame) -> None:
        needed = 34 if whole.srh else 26
        frame = whole.but(payload=bytes(62 - needed)).packed()
        for length in range(63):
            assert bool(router(1, frame[:length])) == (length >= needed)
        assert router.dropped() == {DropReason.TRUNCATED: needed}

    def test_short_random_bytes(self, router: Standing) -> None:
        for length in range(61):
            assert router(1, bytes(range(length, 2 * length))) == []
        assert sum(router.dropped().values()) == 61


class TestVl:
    @pytest.mark.parametrize("out", [0, 1, 2, 8, 9, 16, 17, 19, 72, 128, 255])
    def test_every_turn_on_every_vl(self, router: Standing, out: int) -> None:
        tables, goes = router.tables, router.tables.departures.get(out)
        for into in {1, 2, 8, 9, 16, 17, 19, 72, 128, 256} & tables.arrivals.keys():
            dropped = Counter[DropReason]()
            for vl in range(16):
                arrived = UbFrame(0x3F, vl=vl, srh=Srh(0, 0x800, instructions(out)))
                leaves = next_vl(tables.arrivals[into], goes, vl) if goes else None
                if goes is None or leaves is None or (out == 0 and not tables.has_host):
                    dropped[
                        DropReason.NO_PORT
                        if goes is None
                        else DropReason.VL
                        if leaves is None
                        else DropReason.NO_HOST
                    ] += 1
                    assert router(into, arrived.packed()) == []
                else:
                    srh = None if out == 0 else Srh(1, 0x800, instructions(out))
                    assert router(into, arrived.packed()) == [(out, arrived.but(vl=leaves, srh=srh).packed())]
            assert router.dropped() == dropped

    @pytest.mark.parametrize(
        ("into", "out", "vl", "leaves"),
        [
            (2, 2, 0, 1),  # down, then up: a valley, so the second VL of the class
            (2, 9, 2, 3),  # in any dimension of the group
            (2, 2, 1, None),  # a second valley would need a third VL
            (1, 2, 1, 1),  # up, up
            (1, 1, 0, 0),  # up, down
            (2, 17, 1, 0),  # another group: start again
            (17, 2, 0, None),  # and never back
        ],
    )
    def test_turns_by_hand(self, router: Standing, into: int, out: int, vl: int, leaves: int | None) -> None:
        (got,) = router(into, UbFrame(0x3F, vl=vl, srh=Srh(0, 0x800, instructions(out))).packed()) or [None]
        assert (got and UbFrame.parsed(got[1]).vl) == leaves

    def test_the_last_hop_keeps_it(self, router: Standing) -> None:
        arrived = UbFrame(OWN_CNA, vl=3)
        assert router.keeps(2, arrived, arrived)

    @pytest.mark.parametrize(
        ("router", "into", "out", "vl", "leaves"),
        [
            (LRS, 19, 16, 1, 1),  # from below into the group of those who come from below, down
            (LRS, 20, 3, 0, None),  # the mesh of the group before it is behind
            (LRS, 2, 20, 1, 0),  # to a device below: another group
            (LRS, 72, 19, 3, 2),  # from one device to another
            (HRS, 1, 128, 3, 2),  # down to a rack, with a new group
            (HRS, 19, 128, 1, 1),  # from one rack to another: up, down
            (HRS, 128, 1, 0, None),
        ],
        indirect=["router"],
        ids=lambda value: value.program if isinstance(value, Router) else str(value),
    )
    def test_vertical_turns_by_hand(
        self, router: Standing, into: int, out: int, vl: int, leaves: int | None
    ) -> None:
        (got,) = router(into, UbFrame(0x3F, vl=vl, srh=Srh(0, 0x800, instructions(out))).packed()) or [None]
        assert (got and (got[0], UbFrame.parsed(got[1]).vl)) == (leaves if leaves is None else (out, leaves))

    @pytest.mark.parametrize(
        ("mgmt", "sl", "leaves"),
        [(0, 0, 0), (1, 0, 2), (0, 1, 2), (0, 15, 2), (1, 1, 2), (0, 2, 4), (0, 7, 14), (1, 7, 2), (0, 8, 2)],
    )
    def test_the_source_does_not_choose(self, router: Standing, mgmt: int, sl: int, leaves: int) -> None:
        for vl in range(16):
            arrived = UbFrame(0x0F, vl=vl, mgmt=mgmt, sl=sl)
            assert router.from_own_side(arrived) == [(7, arrived.but(vl=leaves).packed())]


class TestController:
    @pytest.mark.parametrize("srh", [None, Srh(3, 0xC00, INSTR)])
    def test_management_goes_to_the_controller(self, router: Standing, srh: Srh | None) -> None:
        arrived = UbFrame(OWN_CNA, vl=2, mgmt=1, srh=srh)
        assert router(12, arrived.packed()) == [
            (CPU_PORT, (12 << 7).to_bytes(2) + arrived.but(srh=None).packed())
        ]

    def test_management_in_transit_is_forwarded(self, router: Standing) -> None:
        arrived = UbFrame(0x0F, vl=2, mgmt=1)
        assert router(1, arrived.packed()) == [(7, arrived.packed())]

    def test_routed_packet_out_is_as_if_from_the_host(self, router: Standing) -> None:
        arrived = UbFrame(0x00, vl=9, lb=0, mgmt=1)
        pushed = arrived.but(vl=2, srh=Srh(1, 0xC00, instructions(1, 8)))
        if not router.tables.has_host:  # the tables steer it: who has no sender has no routes
            assert router(CPU_PORT, packet_out(arrived.packed(), egress_port=5)) == [
                (8, arrived.but(vl=2).packed())
            ]
            return
        assert router(CPU_PORT, packet_out(arrived.packed(), egress_port=5)) == [(1, pushed.packed())]

    def test_packet_out_to_a_port_goes_there_as_it_is(self, router: Standing) -> None:
        for arrived in (
            UbFrame(0x00, vl=9, lb=0, mgmt=1),
            UbFrame(0x00, vl=2, mgmt=1, srh=Srh(4, 0xD00, INSTR)),
        ):
            sent = packet_out(arrived.packed(), egress_port=5, routed=0)
            assert router(CPU_PORT, sent) == [(5, arrived.but(vl=2).packed())]

    @pytest.mark.parametrize("port", [15, CPU_PORT, 511])
    def test_packet_out_to_no_port(self, router: Standing, port: int) -> None:
        assert router(CPU_PORT, packet_out(UbFrame(0).packed(), egress_port=port, routed=0)) == []
        assert router.dropped() == {DropReason.NO_PORT: 1}

    def test_truncated_packet_out(self, router: Standing) -> None:
        sent = packet_out(UbFrame(0x0F, payload=b"").packed())
        for length in range(len(sent)):
            assert router(CPU_PORT, sent[:length]) == []
        assert router.dropped() == {DropReason.TRUNCATED: len(sent)}


class TestSwitch:
    """Differences between an NPU and a switch."""

    @pytest.mark.parametrize("srh", [None, Srh(0, 0x800, instructions(0)), Srh(3, 0xC00, INSTR)])
    @pytest.mark.parametrize("router", [LRS, HRS, RAIL], indirect=True, ids=lambda router: router.program)
    def test_has_no_host_to_deliver_to(self, router: Standing, srh: Srh | None) -> None:
        assert router(12, UbFrame(OWN_CNA, srh=srh).packed()) == []
        assert router.dropped() == {DropReason.NO_HOST: 1}
        assert router(CPU_PORT, packet_out(UbFrame(OWN_CNA, srh=srh).packed())) == []
        assert router(CPU_PORT, packet_out(UbFrame(0).packed(), egress_port=0, routed=0)) == []
        assert router.dropped() == {DropReason.NO_HOST: 2}

    @pytest.mark.parametrize("router", [LRS, HRS, RAIL], indirect=True, ids=lambda router: router.program)
    def test_nothing_comes_from_port_0(self, router: Standing) -> None:
        assert router(0, UbFrame(0x0F).packed()) == []
        assert router.dropped() == {DropReason.ARRIVAL: 1}

    @only[HRS]
    def test_tables_lead_to_a_rack_behind_every_port(self, router: Standing) -> None:
        for port in range(19, 129):
            arrived = UbFrame(2 << 13 | port - 1 << 6 | 0x2A, vl=2)
            assert router(1, arrived.packed()) == [(port, arrived.packed())]


def test_transmitted_frames_are_counted_by_port_and_vl(router: Standing) -> None:
    frame = UbFrame(0x0F, vl=3, payload=bytes(100)).packed()
    before = router.sent(7, 3)
    router(1, frame)
    router(1, frame)
    assert router.sent(7, 3) == (before[0] + 2, before[1] + 2 * len(frame))
    last = min(router.tables.last_port, 255)  # what an instruction can name
    before = router.sent(last, 2)
    frame = UbFrame(0x0F, vl=2, srh=Srh(0, 0x800, instructions(last))).packed()
    (_, out) = router(1, frame)[0]
    assert UbFrame.parsed(out).vl == 2
    assert router.sent(last, 2) == (before[0] + 1, before[1] + len(frame))


@pytest.mark.parametrize("seed", range(4))
def test_random_frames_against_the_second_implementation(router: Standing, seed: int) -> None:
    expected_drops = Counter[DropReason]()
    count = 5000 if router.tables.has_rail else 2000  # of many ports and addresses each comes seldom
    for port, frame in random_frames(router.tables, count, seed):
        expected = router.tables.hop(port, frame)
        if isinstance(expected, DropReason):
            expected_drops[expected] += 1
        assert router(port, frame) == ([] if isinstance(expected, DropReason) else [expected]), (
            port,
            frame.hex(),
            expected,
        )
    assert router.dropped() == expected_drops
    assert set(expected_drops) == router.tables.reasons
