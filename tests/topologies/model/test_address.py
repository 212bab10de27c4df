# SPDX-License-Identifier: Apache-2.0
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topologies import AddressField, AddressPlan, TopologyError, full_mesh, ub_rack
from topologies.families.ub_mesh.fabrics import UB_ADDRESS_PLAN


def test_rack_addresses_are_board_and_slot() -> None:
    rack = ub_rack()
    assert [(part.name, part.bits) for part in rack.address_plan.fields] == [
        ("class", 3),
        ("pod", 3),
        ("row", 2),
        ("column", 2),
        ("board", 3),
        ("npu", 3),
    ]
    assert rack.node("npu0").address == 0
    assert rack.node("npu63").address == 0b111_111
    assert rack.address_plan.unpack(rack.node("npu42").address) == {
        "class": 0,
        "pod": 0,
        "row": 0,
        "column": 0,
        "board": 5,
        "npu": 2,
    }


def test_full_mesh_addresses_have_the_last_dimension_leftmost() -> None:
    mesh = full_mesh([3, 8, 2])
    assert [(part.name, part.bits) for part in mesh.address_plan.fields] == [
        ("class", 3),
        ("pad", 7),
        ("d2", 1),
        ("d1", 3),
        ("d0", 2),
    ]
    node = mesh.nodes[-1]
    assert node.coordinates == (2, 7, 1)
    assert node.address == 0b1_111_10
    assert mesh.node_of(0b1_111_10) == node
    assert mesh.node_of(0b11) is None


@given(st.integers(0, 0xFFFF))
def test_unpacking_and_packing_is_exact(address: int) -> None:
    assert UB_ADDRESS_PLAN.pack(**UB_ADDRESS_PLAN.unpack(address)) == address


def test_prefix_ends_just_before_the_field() -> None:
    address = UB_ADDRESS_PLAN.pack(**{"class": 5, "pod": 3, "row": 2, "column": 1, "board": 6, "npu": 2})
    assert UB_ADDRESS_PLAN.prefix("npu", address) == (address & 0xFFF8, 13)
    assert UB_ADDRESS_PLAN.prefix("board", address) == (address & 0xFFC0, 10)
    assert UB_ADDRESS_PLAN.prefix("class", address) == (0, 0)


def test_values_that_do_not_fit_are_refused() -> None:
    plan = AddressPlan((AddressField("board", 2), AddressField("npu", 3)))
    with pytest.raises(TopologyError, match=r"address field board: 4 is not in 0\.\.3"):
        plan.pack(board=4)
    with pytest.raises(TopologyError, match="the address plan has no field 'slot'; use one of board, npu"):
        plan.pack(slot=1)
    with pytest.raises(
        TopologyError, match="address 0x20 does not fit in 5 bits; use an address of this plan"
    ):
        plan.unpack(32)
