# SPDX-License-Identifier: Apache-2.0
"""The file of the machines, and the nodes apportioned to them."""

from collections import Counter
from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from emulation.errors import TestbedError
from emulation.mininet.cluster.cutting import Cut, cut
from emulation.mininet.cluster.machines import Machine, Machines, read_machines
from emulation.mininet.cluster.plans import Tunnels
from topologies import TopologyError
from topologies.families.full_mesh import full_mesh
from topologies.families.registry import build


def machines(*names: str, **nodes: list[str]) -> list[Machine]:
    return [
        Machine(name, IPv4Address(f"10.0.0.{number + 1}"), ("ssh",), ("python",), nodes.get(name, ()))
        for number, name in enumerate(names)
    ]


def test_a_machine_needs_a_name_and_an_address(tmp_path: Path) -> None:
    file = tmp_path / "machines.yaml"
    file.write_text(
        "machines:\n"
        "  - {name: a, address: 10.0.0.1}\n"
        "  - {name: b, address: 10.0.0.2, ssh: ssh -p 2222 admin@b, python: sudo -n /opt/py, nodes: [npu0]}\n"
        "vxlan_port: 8472\n"
    )
    read = read_machines(file)
    first, second = read.machines
    assert read.vxlan_port == 8472
    assert (first.ssh[0], first.ssh[-1]) == ("ssh", "root@10.0.0.1")
    assert "BatchMode=yes" in first.ssh
    assert second.ssh[-3:] == ("-p", "2222", "admin@b")
    assert second.command("-m", "x y")[-1] == "sudo -n /opt/py -m 'x y'"
    assert second.nodes == ("npu0",)


def test_options_stand_behind_the_word_ssh(tmp_path: Path) -> None:
    file = tmp_path / "machines.yaml"
    file.write_text(
        "machines:\n"
        "  - {name: a, address: 10.0.0.1, ssh: sudo -n /usr/bin/ssh root@a}\n"
        "  - {name: b, address: 10.0.0.2, ssh: ./connect b}\n"
    )
    first, second = read_machines(file).machines
    assert first.ssh[:4] == ("sudo", "-n", "/usr/bin/ssh", "-o")
    assert first.ssh_with("-N")[:5] == ["sudo", "-n", "/usr/bin/ssh", "-N", "-o"]
    assert second.ssh_with("-N")[:3] == ["./connect", "-N", "-o"]


A, B = "{name: a, address: 10.0.0.1}", "{name: b, address: 10.0.0.2}"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("- x", "no list `machines`"),
        ("machines: [", "is not valid YAML"),
        (f"machines: [{A}]", "1 machines; name two or more"),
        (f"machines: [{A}, {B}]\nport: 3", "unknown key port"),
        (f"machines: [{A}, {B}]\nvxlan_port: 70000", "`vxlan_port` is 70000"),
        (f"machines: [{A}, 3]", "machines[1] is 3"),
        (f"machines: [{A}, {{name: b, address: 10.0.0.2, user: x}}]", "machines[1] has an unknown key user"),
        (f"machines: [{A}, {{name: b c, address: 10.0.0.2}}]", "machines[1]: `name` is 'b c'"),
        (f"machines: [{A}, {{name: b, address: there}}]", "machines[1]: `address` is 'there'"),
        (f"machines: [{A}, {{name: b}}]", "machines[1]: `address` is None"),
        (f'machines: [{A}, {{name: b, address: 10.0.0.2, ssh: "ssh \'"}}]', "machines[1]: `ssh`"),
        (f"machines: [{A}, {{name: b, address: 10.0.0.2, nodes: npu0}}]", "machines[1]: `nodes` is 'npu0'"),
        (f"machines: [{A}, {{name: a, address: 10.0.0.2}}]", "two machines have the name a"),
        (f"machines: [{A}, {{name: b, address: 10.0.0.1}}]", "two machines have the address 10.0.0.1"),
    ],
)
def test_a_wrong_file_is_refused_with_its_key(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "machines.yaml"
    file.write_text(text)
    with pytest.raises(TestbedError) as refused:
        read_machines(file)
    assert says in str(refused.value)
    assert str(file) in str(refused.value)


def test_a_rack_is_cut_into_equal_parts_with_few_links_between() -> None:
    rack = full_mesh([8, 8])
    parts = cut(rack, machines("a", "b", "c", "d"))
    assert Counter(parts.machine_of.values()) == {"a": 16, "b": 16, "c": 16, "d": 16}
    # Two rows on each machine: no other cut into four has fewer links.
    assert len(parts.crossing) == 8 * (28 - 4)
    for name in "abcd":
        part = parts.part(name)
        assert len(part.nodes) == 16
        assert {link.name for link in rack.links} >= {link.name for link in part.links}
        assert all(
            name in (parts.machine_of[link.a.node], parts.machine_of[link.b.node]) for link in part.links
        )


@pytest.mark.parametrize("count", [2, 3, 4])
def test_no_machine_is_left_without_a_node(count: int) -> None:
    for fabric in (full_mesh([count]), full_mesh([2, 2]), build("rail-only")):
        parts = cut(fabric, machines(*"abcd"[:count]))
        assert set(parts.machine_of.values()) == set("abcd"[:count])
        assert set(parts.machine_of) == {node.name for node in fabric.nodes}


def test_named_nodes_are_where_the_file_says() -> None:
    parts = cut(full_mesh([2, 2]), machines("a", "b", a=["npu3"], b=["npu0"]))
    assert parts.machine_of["npu3"] == "a"
    assert parts.machine_of["npu0"] == "b"
    assert Counter(parts.machine_of.values()) == {"a": 2, "b": 2}


def test_what_cannot_be_cut_is_refused() -> None:
    with pytest.raises(TestbedError, match="has 2 nodes, fewer than the 3 machines"):
        cut(full_mesh([2]), machines("a", "b", "c"))
    with pytest.raises(TestbedError, match="node npu0 is on machine a and on b"):
        cut(full_mesh([2, 2]), machines("a", "b", a=["npu0"], b=["npu0"]))
    with pytest.raises(TopologyError, match="npu9"):
        cut(full_mesh([2, 2]), machines("a", "b", a=["npu9"]))
    with pytest.raises(TestbedError, match="machine b gets no node, since other machines name all nodes"):
        cut(full_mesh([2]), machines("a", "b", a=["npu0", "npu1"]))


def test_every_machine_gets_a_node_beside_named_ones() -> None:
    parts = cut(full_mesh([4]), machines("a", "b", "c", a=["npu3"]))
    assert sorted(Counter(parts.machine_of.values()).values()) == [1, 1, 2]


def test_machines_with_ports_of_an_optical_switch_are_neighbours() -> None:
    pods = build("lumos")
    switch = pods.optical[0]
    names = dict(zip((end.node for end in switch.ends), "bcbc", strict=False))
    # Its circuits may lead from b to c, though no link does so now.
    alone = replace(pods, links=(), optical=(switch,))
    parts = Cut(alone, {node.name: names.get(node.name, "a") for node in pods.nodes})
    assert set(names.values()) == {"b", "c"}
    assert parts.pairs == [("b", "c"), ("c", "b")]


def test_a_tunnel_leads_to_the_end_on_the_other_machine() -> None:
    parts = cut(full_mesh([2, 2]), machines("a", "b"))
    tunnels = Tunnels(parts, Machines(machines("a", "b"), 4790))
    identifiers = set()
    for link in [*parts.crossing, *parts.crossing]:
        ends = tunnels.tunnel(link)
        (at_a, from_a), (at_b, from_b) = ends["a"], ends["b"]
        assert parts.machine_of[at_a.node] == "b"
        assert {at_a, at_b} == {link.a, link.b}
        assert (from_a.local, from_a.remote) == (from_b.remote, from_b.local)
        assert from_a.identifier == from_b.identifier
        assert from_a.udp_port == 4790
        identifiers.add(from_a.identifier)
    # A circuit that returns gets another tunnel: no frame of its earlier tunnel arrives.
    assert len(identifiers) == 2 * len(parts.crossing)
