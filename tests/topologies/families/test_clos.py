# SPDX-License-Identifier: Apache-2.0
"""Folded Clos networks as numbers."""

import pytest

from topologies import TopologyError
from topologies.families.clos import Clos, clos, clos_of


def test_a_switch_is_enough_up_to_its_radix() -> None:
    assert clos_of(64, 64) == Clos(64, 1, 64)
    assert (clos_of(64, 64).tiers, clos_of(64, 64).switches, clos_of(64, 64).trunk_cables) == (1, 1, 0)


@pytest.mark.parametrize("radix", [4, 8, 16, 64, 128])
def test_full_networks_have_the_counts_of_the_textbook(radix: int) -> None:
    two, three = clos_of(radix**2 // 2, radix), clos_of(radix**3 // 4, radix)
    assert (two.tiers, two.leaves, two.all_spines, two.trunk) == (2, radix, radix // 2, 1)
    assert (three.tiers, three.pods, three.leaves) == (3, radix, radix**2 // 2)
    assert (three.all_spines, three.all_cores) == (radix**2 // 2, radix**2 // 4)
    assert three.trunk == three.core_trunk == 1
    # As many cables in every layer as endpoints.
    assert (two.trunk_cables, three.trunk_cables) == (radix**2 // 2, 2 * radix**3 // 4)


@pytest.mark.parametrize("radix", [4, 6, 8, 64])
def test_no_switch_has_more_cables_than_ports_and_none_is_contended(radix: int) -> None:
    for endpoints in range(1, min(radix**3 // 4, 600) + 1):
        network = clos_of(endpoints, radix)
        assert network.leaves * network.below >= endpoints
        assert network.below + network.uplinks <= radix
        if network.tiers == 1:
            continue
        assert network.uplinks >= network.below
        assert network.spines * network.trunk == network.uplinks
        up = network.cores * network.core_trunk
        assert network.pod * network.trunk + up <= radix
        if network.tiers == 3:
            assert up >= network.pod * network.trunk
            assert network.pods * network.core_trunk <= radix


def test_a_part_of_a_network_has_part_of_its_spines_and_trunks_to_them() -> None:
    quarter = clos_of(512, 64)
    assert (quarter.leaves, quarter.all_spines, quarter.trunk) == (16, 8, 4)
    assert quarter.trunk_cables == 512


@pytest.mark.parametrize(
    ("leaves", "below", "radix", "more", "message"),
    [
        (1, 9, 8, {}, "a switch of radix 8 has too few ports for 9 endpoints; use radix 9 or more"),
        (2, 5, 8, {}, "a leaf needs 5 ports down and 5 up, and has 8; use radix 10 or more, or fewer"),
        (33, 4, 8, {}, "33 leaves of radix 8 are more than 3 tiers can join; use a larger radix"),
        (
            4,
            4,
            8,
            {"spines": 3},
            "3 spines of radix 8 cannot join 4 leaves with 4 uplinks each; give spines 0",
        ),
        (2, 2, 1, {}, "radix is 1, below 2; give at least 2 ports"),
    ],
)
def test_what_does_not_fit_says_what_does(
    leaves: int, below: int, radix: int, more: dict, message: str
) -> None:
    with pytest.raises(TopologyError, match=message):
        clos(leaves, below, radix, **more)


def test_nothing_joins_nothing() -> None:
    with pytest.raises(TopologyError, match="0 endpoints"):
        clos_of(0, 64)


def test_fewer_uplinks_are_an_oversubscription_and_more_spines_thinner_trunks() -> None:
    assert clos(4, 6, 8, uplinks=2) == Clos(8, 4, 6, 2, pod=4, spines=1, trunk=2)
    assert clos(4, 4, 8, spines=4) == Clos(8, 4, 4, 4, pod=4, spines=4, trunk=1)
