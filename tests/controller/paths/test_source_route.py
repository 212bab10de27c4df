# SPDX-License-Identifier: Apache-2.0
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller import PlanError
from controller.paths.source_route import (
    HEADER_BYTES,
    MAX_INSTRUCTIONS,
    SourceRoute,
    decode,
    encode,
    instruction_index,
    pack,
)

PORTS = (11, 12, 13, 14, 15, 16)
ROUTES = st.builds(
    SourceRoute,
    st.integers(0, 15),
    st.integers(0, 0xFFF),
    st.tuples(*[st.integers(0, 255)] * MAX_INSTRUCTIONS),
)


def test_layout_is_ptr_then_bitmap_then_six_instructions() -> None:
    route = SourceRoute(ptr=3, bitmap=0b1101_0000_0000, instructions=(1, 2, 3, 4, 5, 255))
    assert encode(route) == bytes([0x3D, 0x00, 1, 2, 3, 4, 5, 255])


def test_bitmap_1101_uses_instructions_0_1_table_2() -> None:
    bitmap = 0b1101_0000_0000
    assert [instruction_index(bitmap, ptr) for ptr in range(5)] == [0, 1, None, 2, None]
    route = SourceRoute(0, bitmap, PORTS)
    taken = []
    for _ in range(5):
        taken.append(route.egress_port())
        route = route.advanced()
    assert taken == [11, 12, None, 13, None]


def test_hops_1_and_3_steered_use_instruction_1_at_hop_3() -> None:
    assert instruction_index(0b0101_0000_0000, 3) == 1


def test_bits_of_later_hops_do_not_count() -> None:
    assert instruction_index(0b0000_0000_0001, 11) == 0
    assert instruction_index(0b1000_0000_0001, 0) == 0


@pytest.mark.parametrize(
    ("ptr", "bitmap", "problem"),
    [
        (12, 0, "ptr 12 is past 11"),
        (15, 0b1111_1100_0000, "ptr 15 is past 11"),
        (0, 0b1111_1110_0000, "bitmap asks for 7 instructions; a header has 6"),
        (11, 0xFFF, "bitmap asks for 12 instructions; a header has 6"),
        (11, 0b1111_1100_0000, ""),
    ],
)
def test_headers_that_routers_refuse(ptr: int, bitmap: int, problem: str) -> None:
    route = SourceRoute(ptr, bitmap, PORTS)
    assert route.problem == problem
    assert decode(encode(route)) == route
    if problem:
        with pytest.raises(PlanError, match=problem):
            route.egress_port()


@given(ROUTES)
def test_round_trip(route: SourceRoute) -> None:
    header = encode(route)
    assert len(header) == HEADER_BYTES
    assert decode(header) == route


@given(ROUTES)
def test_an_instruction_is_used_once_and_in_order(route: SourceRoute) -> None:
    used = [index for ptr in range(12) if (index := instruction_index(route.bitmap, ptr)) is not None]
    assert used == list(range(route.bitmap.bit_count()))


@given(st.lists(st.integers(0, 255), max_size=6))
def test_a_packed_route_is_steered_at_every_hop_then_left_to_the_tables(ports: list[int]) -> None:
    bitmap, instructions = pack(ports)
    route = SourceRoute(0, bitmap, tuple(instructions.to_bytes(6)))
    taken: list[int | None] = []
    for _ in range(len(ports) + 1):
        taken.append(route.egress_port())
        route = route.advanced()
    assert taken == [*ports, None]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(
        PlanError,
        match="the route steers 7 hops; a source route holds at most 6; leave some of the hops to the",
    ):
        pack(range(7))
    with pytest.raises(PlanError, match="port 256 does not fit"):
        pack([256])
    with pytest.raises(PlanError, match="ptr 16"):
        encode(SourceRoute(16, 0, PORTS))
    with pytest.raises(PlanError, match="instructions"):
        encode(SourceRoute(0, 0, PORTS[:5]))
    with pytest.raises(PlanError, match="the source route has 7 bytes"):
        decode(bytes(7))


def test_hops_left_to_the_tables_have_no_instruction() -> None:
    assert pack([3, None, 5]) == (0b1010_0000_0000, 0x0305_0000_0000)
    assert pack([1, 2, None]) == (0b1100_0000_0000, 0x0102_0000_0000)
    assert pack([None, 1, 2, 3, None, 4, 5, 6])[0] == 0b0111_0111_0000
