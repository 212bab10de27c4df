# SPDX-License-Identifier: Apache-2.0
"""Clos whose switches choose by hash: numbers, cables, addresses, and refused sizes."""

from collections import Counter

import pytest

from topologies import Fabric, TopologyError, ecmp_clos


def kinds(fabric: Fabric) -> Counter[str]:
    return Counter(node.name.rstrip("0123456789") for node in fabric.nodes)


def test_the_default_is_a_fat_tree_of_switches_with_four_ports() -> None:
    fabric = ecmp_clos()
    assert kinds(fabric) == {"npu": 16, "tor": 8, "agg": 8, "core": 4}
    assert {len(fabric.neighbours(node.name)) for node in fabric.switches} == {4}
    assert {link.rate_bps for link in fabric.links} == {400 * 10**9}


def test_an_aggregation_switch_leads_to_its_group_of_cores() -> None:
    fabric = ecmp_clos(hosts=3, tors=2, aggs=2, pods=3, cores=6)
    above = {name for name in fabric.neighbours("agg3") if name.startswith("core")}
    assert above == {"core1", "core3", "core5"}
    assert set(fabric.neighbours("tor3")) == {"npu9", "npu10", "npu11", "agg2", "agg3"}


def test_a_single_pod_has_two_tiers_with_rates_and_delays_of_their_own() -> None:
    fabric = ecmp_clos(4, 3, 2, 1, 0, host_gbps=100, agg_gbps=200, tor_delay_ns=10, agg_delay_ns=20)
    assert kinds(fabric) == {"npu": 12, "tor": 3, "agg": 2}
    host, up = fabric.link_between("npu0", "tor0"), fabric.link_between("tor2", "agg1")
    assert (host.rate_bps, host.delay_ps) == (100 * 10**9, 10_000)
    assert (up.rate_bps, up.delay_ps) == (200 * 10**9, 20_000)


def test_the_npus_of_a_tor_and_the_tors_of_a_pod_share_prefixes() -> None:
    fabric = ecmp_clos(hosts=3, tors=2, aggs=1, pods=2, cores=1)
    addresses = [fabric.node(f"npu{number}").address for number in range(12)]
    assert [address >> 2 for address in addresses] == [0] * 3 + [1] * 3 + [2] * 3 + [3] * 3
    assert [address & 3 for address in addresses] == [0, 1, 2] * 4


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"cores": 3}, "3 cores cannot join 4 pods of 2 aggregation switches; give a multiple of aggs"),
        ({"cores": 0}, "0 cores cannot join 4 pods"),
        ({"pods": 1}, "4 cores would join one pod; give cores 0"),
        ({"hosts": 1, "tors": 1, "pods": 1, "cores": 0}, "one NPU makes no network"),
        (
            {"hosts": 255, "aggs": 1, "cores": 1},
            "tor0 has 256 ports, but a source route can address only",
        ),
        ({"hosts": 128, "tors": 64, "pods": 8}, "need 16 bits of the 15 of an address; use fewer"),
    ],
)
def test_refused(sizes: dict[str, int], message: str) -> None:
    with pytest.raises(TopologyError) as caught:
        ecmp_clos(**sizes)
    assert message in str(caught.value)
