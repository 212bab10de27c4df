# SPDX-License-Identifier: Apache-2.0
"""The programs of rails on the engine: PXN on a GPU, the guard and the ways of a rail switch."""

from collections import Counter

import pytest

from controller.forwarding.pipeline import DropReason
from tests.emulation.programs.standing import Standing, installed, only, router
from tests.emulation.programs.ub_frames import Srh, UbFrame, instructions
from tests.emulation.programs.ub_reference import BELOW, GPU, GPUS, RAIL, SPREAD

__all__ = ["installed", "router"]  # fixtures


@only[GPU]
class TestPxn:
    """GPU of rank 1 in domain 5; ranks 0 and 2 to 6 are behind ports of the mesh, and its NIC is port 17."""

    @pytest.mark.parametrize(
        ("rank", "port"), [(0, 1), (1, 17), (2, 2), (3, 3), (6, 6)], ids=lambda value: str(value)
    )
    @pytest.mark.parametrize("domain", [0, 4, 6, 255])
    def test_the_rank_names_the_neighbour(self, router: Standing, domain: int, rank: int, port: int) -> None:
        arrived = UbFrame(GPUS | domain << 3 | rank)
        assert router(0, arrived.packed()) == [(port, arrived.packed())]

    def test_in_transit_the_same(self, router: Standing) -> None:
        arrived = UbFrame(GPUS | 9 << 3 | 1)
        assert router(3, arrived.packed()) == [(17, arrived.packed())]

    def test_the_own_domain_is_left_to_the_other_tables(self, router: Standing) -> None:
        arrived = UbFrame(GPUS | 5 << 3)
        assert router(0, arrived.packed()) == [(router.tables.table_port(arrived.dcna), arrived.packed())]

    def test_a_rank_that_is_missing_too(self, router: Standing) -> None:
        arrived = UbFrame(GPUS | 9 << 3 | 7)
        assert router(0, arrived.packed()) == [(router.tables.table_port(arrived.dcna), arrived.packed())]

    def test_an_instruction_comes_first(self, router: Standing) -> None:
        arrived = UbFrame(GPUS, srh=Srh(0, 0x800, instructions(9)))
        assert router(0, arrived.packed()) == [(9, arrived.but(srh=Srh(1, 0x800, instructions(9))).packed())]
        arrived = UbFrame(GPUS, srh=Srh(1, 0x800, instructions(9)))
        assert router(0, arrived.packed()) == [(1, arrived.but(srh=Srh(2, 0x800, instructions(9))).packed())]


@only[RAIL]
class TestRail:
    """A switch on the rail of rank 3, with a port a domain up to 200 and groups of ports for those after."""

    @pytest.mark.parametrize(("domain", "port"), [(0, 19), (7, 26), (199, 218)])
    def test_a_port_a_domain(self, router: Standing, domain: int, port: int) -> None:
        arrived = UbFrame(BELOW | domain << 3 | 3)
        assert router(1, arrived.packed()) == [(port, arrived.packed())]

    @pytest.mark.parametrize("rank", [0, 1, 2, 4, 5, 6, 7])
    @pytest.mark.parametrize("srh", [None, Srh(0, 0x800, instructions(2)), Srh(12, 0, 0)])
    def test_a_foreign_rail_is_refused_whatever_steers(
        self, router: Standing, rank: int, srh: Srh | None
    ) -> None:
        assert router(1, UbFrame(BELOW | 9 << 3 | rank, srh=srh).packed()) == []
        assert router.dropped() == {DropReason.FOREIGN_RAIL: 1}

    def test_an_address_of_no_place_is_not_of_the_rail(self, router: Standing) -> None:
        assert router(1, UbFrame(BELOW | 1 << 11 | 3).packed()) == []
        assert router.dropped() == {DropReason.NO_ROUTE: 1}

    @pytest.mark.parametrize("domain", [240, 249, 250])
    def test_a_group_without_members_and_a_domain_without_entry(self, router: Standing, domain: int) -> None:
        assert router(1, UbFrame(BELOW | domain << 3 | 3).packed()) == []
        assert router.dropped() == {DropReason.NO_ROUTE: 1}

    def test_lb_counts_the_ways(self, router: Standing) -> None:
        def ways(dcna: int) -> list[int]:
            frames = (UbFrame(dcna, lb=lb, lb_mode=1) for lb in range(256))
            return [out for frame in frames for out, _ in router(1, frame.packed())]

        assert ways(SPREAD)[:9] == [8, 9, 10, 11, 12, 13, 14, 8, 8]
        assert ways(BELOW | 220 << 3 | 3) == [219 + (lb >> 4) for lb in range(256)]

    def test_a_flow_keeps_its_way_and_flows_spread(self, router: Standing) -> None:
        def way(scna: int, lb: int) -> int:
            frame = UbFrame(BELOW | 220 << 3 | 3, scna=scna, lb=lb)
            return router(1, frame.packed())[0][0]

        ways = Counter(way(scna, lb) for scna in range(64) for lb in range(16))
        assert set(ways) == set(range(219, 235))
        assert max(ways.values()) < 2 * min(ways.values())
        assert {way(5, 3) for _ in range(4)} == {way(5, 3)}
