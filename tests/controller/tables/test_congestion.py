# SPDX-License-Identifier: Apache-2.0
"""Entries of the table congestion."""

from controller import Entry, Exact
from controller.tables.congestion import Marking, congestion_entries
from topologies import full_mesh, lumos


def test_every_port_of_a_link_has_the_depth_and_no_host_port_has_one() -> None:
    fabric = full_mesh([2, 3])
    entries = congestion_entries(fabric, Marking(8, 8))
    assert entries["npu0"] == tuple(
        Entry("congestion", (("egress_port", Exact(port)),), "mark_from", (("frames", 8),))
        for port in (1, 2, 3)
    )
    assert sum(map(len, entries.values())) == 2 * len(fabric.links)


def test_two_depths_and_a_share_are_an_entry_of_each_port_the_hosts_among_them() -> None:
    fabric = full_mesh([2, 3])
    entries = congestion_entries(fabric, Marking(8, 32, 0.25, to_hosts=True))
    assert len(entries["npu0"]) == 4
    assert {entry.action for entry in entries["npu0"]} == {"mark_between"}
    assert entries["npu0"][0].params == (("first", 8), ("last", 32), ("part", 16384))


def test_ports_to_an_optical_switch_have_it_whether_a_circuit_stands_or_not() -> None:
    fabric = lumos(pods=3, leaves=1, spines=1, accelerators=2, hb_size=2, ports=4)
    entries = congestion_entries(fabric, Marking(1, 1))
    for optical in fabric.optical:
        for end in optical.ends:
            assert Exact(end.port) in [match for entry in entries[end.node] for _, match in entry.match]


def test_a_port_with_depths_of_its_own() -> None:
    fabric = full_mesh((3,))
    link = fabric.links[0]
    alike = congestion_entries(fabric, Marking(8, 32))
    other = congestion_entries(fabric, Marking(8, 32), {link.a: Marking(2, 4)})
    changed = [
        (node, number)
        for node, entries in other.items()
        for number, entry in enumerate(entries)
        if entry != alike[node][number]
    ]
    (position,) = changed
    assert position[0] == link.a.node
    assert other[position[0]][position[1]].match == (("egress_port", Exact(link.a.port)),)
