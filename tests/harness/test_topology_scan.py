# SPDX-License-Identifier: Apache-2.0
"""A fabric discovered by scan frames alone is the planned fabric, and wrong cables are named."""

import pytest

from controller.discovery import Hops, compare_cables, guid_of
from controller.errors import PlanError
from harness.topology_scan import hops_for, scan_fabric
from topologies import Fabric, full_mesh, hpn, rail_only, ub_rack_lrs
from topologies.transform.cabling import swap_cables, unplug

RACK = ub_rack_lrs()


def links(fabric: Fabric) -> set[tuple[tuple[int, int], tuple[int, int]]]:
    guids = {node.name: guid_of(node) for node in fabric.nodes}
    ends = ((a, b) for link in fabric.links for a, b in ((link.a, link.b), (link.b, link.a)))
    return {((guids[a.node], a.port), (guids[b.node], b.port)) for a, b in ends}


@pytest.mark.parametrize("hops", Hops)
@pytest.mark.parametrize("root", ["", "npu5"])
def test_a_mesh_with_every_width_of_a_hop(hops: Hops, root: str) -> None:
    mesh = full_mesh((2, 4))
    discovered, time_ps = scan_fabric(mesh, root, hops)
    assert set(discovered.links.items()) == links(mesh)
    assert discovered.requests == 1 + len(mesh.links)  # a link is found from one of its ends
    assert (discovered.longest_path, discovered.unexpected, discovered.dark) == (2, 0, [])
    assert time_ps > 0


@pytest.mark.parametrize(
    ("fabric", "root", "dark"),
    [(RACK, "cpu0", 0), (rail_only(domains=2), "", 0), (hpn(segments=1), "", 0)],
    ids=["rack with LRS", "rails", "HPN"],
)
def test_fabrics_with_switches(fabric: Fabric, root: str, dark: int) -> None:
    discovered, _ = scan_fabric(fabric, root)
    assert set(discovered.links.items()) == links(fabric)
    assert len(discovered.nodes) == len(fabric.nodes)
    assert len(discovered.dark) == dark
    assert compare_cables(fabric, discovered) == []


def test_an_exchanged_cable_of_a_rack_is_named() -> None:
    cabled = unplug(swap_cables(RACK, "npu0-npu1", "npu9-npu10"), "npu20-npu21")
    discovered, _ = scan_fabric(cabled)
    swapped, missing = compare_cables(RACK, discovered)
    assert {end.node for end in swapped.ends} == {"npu0", "npu1", "npu9", "npu10"}
    assert {end.node for end in missing.ends} == {"npu20", "npu21"}
    assert len(discovered.dark) == 2


def test_a_node_behind_no_cable_is_not_reached() -> None:
    mesh = full_mesh((3,))
    alone = unplug(unplug(mesh, "npu0-npu2"), "npu1-npu2")
    discovered, _ = scan_fabric(alone)
    assert len(discovered.nodes) == 2
    assert "npu2 was not reached" in [finding.text for finding in compare_cables(mesh, discovered)]


def test_a_path_longer_than_a_request_holds() -> None:
    ring = full_mesh((12,))
    for a in range(12):
        for b in range(a + 2, 12):
            ring = unplug(ring, f"npu{a}-npu{b}")
    with pytest.raises(PlanError, match="the path has 9 hops; with 16 bits a hop, 8 fit"):
        scan_fabric(ring, hops=Hops.BITS_16)
    assert len(scan_fabric(ring)[0].nodes) == 12


def test_the_width_of_a_hop_follows_the_ports() -> None:
    assert hops_for(RACK) is Hops.BITS_8
    assert hops_for(full_mesh((2,))) is Hops.BITS_8
