# SPDX-License-Identifier: Apache-2.0
"""Topology files of htsim: fat trees with speeds, latencies and bundles; wrong files are refused by line."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topologies import Fabric
from topologies.errors import TopologyError
from topologies.sources.files import read_fabric
from topologies.sources.htsim_topology import htsim_clos

THREE_TIERS = """# a fat tree
Nodes 16
Tiers 3
Podsize 8
Tier 0
downlink_speed_gbps 200
Radix_Down 4
Radix_Up 2
Downlink_Latency_ns 100
Switch_Latency_ns 40
Oversubscribed 2

Tier 1
Downlink_speed_Gbps 200
Radix_Down 2
Radix_Up 4
Downlink_Latency_ns 500
Switch_Latency_ns 60
Queue_Up 150000
Tier 2
Downlink_speed_Gbps 100
Radix_Down 4
Downlink_Latency_ns 1000
Bundle 2
"""
TWO_TIERS = """Nodes 8
Tiers 2
Podsize 8
Tier 0
Downlink_speed_Gbps 100
Radix_Down 4
Radix_Up 2
Downlink_Latency_ns 10
Oversubscribed 2
Tier 1
Downlink_speed_Gbps 100
Radix_Down 2
Downlink_Latency_ns 10"""


def read(folder: Path, text: str) -> Fabric:
    path = folder / "tree.topo"
    path.write_text(text)
    return read_fabric(path)


def test_three_tiers(tmp_path: Path) -> None:
    fabric = read(tmp_path, THREE_TIERS)
    kinds = Counter(node.name.rstrip("0123456789") for node in fabric.nodes)
    assert kinds == {"npu": 16, "tor": 4, "agg": 4, "core": 4}
    between = Counter(
        tuple(sorted((link.a.node.rstrip("0123456789"), link.b.node.rstrip("0123456789"))))
        for link in fabric.links
    )
    assert between == {("npu", "tor"): 16, ("agg", "tor"): 8, ("agg", "core"): 16}
    links = {link.name: link for link in fabric.links}
    host, pod = links["npu5-tor1"], links["tor1-agg0"]
    assert (host.rate_bps, host.delay_ps) == (200 * 10**9, 120_000), "a half of the ToR's latency"
    assert pod.delay_ps == 550_000, "a half of both switches' latencies"
    to_cores = [link for link in fabric.links if {link.a.node, link.b.node} == {"agg1", "core1"}]
    assert [link.rate_bps for link in to_cores] == [100 * 10**9] * 2, "a bundle of two links"
    assert not [link for link in fabric.links if {link.a.node, link.b.node} == {"agg1", "core0"}]


def test_two_tiers_join_every_tor_to_every_spine(tmp_path: Path) -> None:
    fabric = read(tmp_path, TWO_TIERS)
    spines = {link.name for link in fabric.links if "agg" in link.name}
    assert spines == {f"tor{tor}-agg{agg}" for tor in range(2) for agg in range(2)}


NO_BUNDLE = (
    THREE_TIERS.replace("Radix_Up 4", "Radix_Up 2")
    .replace("Gbps 100\nRadix_Down 4", "Gbps 200\nRadix_Down 2")
    .replace("Bundle 2\n", "")
)


@pytest.mark.parametrize("text", [TWO_TIERS, NO_BUNDLE], ids=["two tiers", "three tiers"])
def test_switches_that_choose_by_hash_have_the_same_links(tmp_path: Path, text: str) -> None:
    searched = read(tmp_path, text)
    hashed = htsim_clos(tmp_path / "tree.topo", text)
    assert hashed is not None
    assert {node.program for node in hashed.switches} == {"rail_switch"}

    def links(fabric: Fabric) -> set[tuple[frozenset[str], int, int]]:
        return {
            (frozenset((link.a.node, link.b.node)), link.rate_bps, link.delay_ps) for link in fabric.links
        }

    assert links(hashed) == links(searched)


def test_bundles_have_no_fabric_that_chooses_by_hash(tmp_path: Path) -> None:
    assert htsim_clos(tmp_path / "tree.topo", THREE_TIERS) is None


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Nodes 16", "Nodes x", ":2: nodes is 'x'; give 2 to 65536"),
        ("Nodes 16", "Nodes 99999999999999", ":2: nodes is '99999999999999'"),
        ("Nodes 16\n", "", ":1: nodes is missing; begin with Nodes, Tiers and Podsize"),
        ("Nodes 16", "Nodes 20", ":1: 20 nodes cannot fill pods of 8 with ToRs of 4; give"),
        ("Tiers 3", "Tiers 4", ":3: tiers is '4'; give 2 to 3"),
        ("Tiers 3", "Tiers 2", "tier 1 has no switches above it, but a radix_up"),
        ("Radix_Up 2", "Radix_Up 2\nRadix_Up 2", ":9: radix_up is given twice"),
        ("Radix_Up 2", "Radix_Sideways 2", ":8: unknown key 'Radix_Sideways'"),
        ("Radix_Up 2\n", "", ":5: tier 0 has no radix_up"),
        ("Oversubscribed 2", "Oversubscribed 1", "tier 0 has 800 Gbit/s down and 400 up"),
        ("Tier 2", "Tier 1", ":20: tier 1 is given twice"),
        ("Bundle 2", "Bundle 3", "radix 4 down in bundles of 3"),
        ("Bundle 2", "Bundle 1", "4 cores do not take 4 links of each of 4 switches"),
        (THREE_TIERS[THREE_TIERS.index("Tier 2") :], "", "tier 2 is missing; the file may be cut short"),
        (
            "Downlink_Latency_ns 100\n",
            "Downlink_Latency_ns 1000000001\n",
            "downlink_latency_ns is '1000000001'",
        ),
    ],
)
def test_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in THREE_TIERS
    with pytest.raises(TopologyError, match=r"tree\.topo") as caught:
        read(tmp_path, THREE_TIERS.replace(old, new, 1))
    assert message in str(caught.value)


@settings(max_examples=100, deadline=None)
@given(
    cuts=st.lists(
        st.tuples(
            st.integers(0, 400),
            st.integers(0, 9),
            st.sampled_from(["", "9", "-1", "Tier 0\n", "\n", "#", "²"]),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_damaged_files(tmp_path_factory: pytest.TempPathFactory, cuts: list[tuple[int, int, str]]) -> None:
    text = TWO_TIERS
    for place, length, word in cuts:
        at = place % (len(text) + 1)
        text = text[:at] + word + text[at + length :]
    path = tmp_path_factory.mktemp("damaged") / "tree.topo"
    path.write_text(text)
    refusal = str(path)
    try:
        read_fabric(path)
    except TopologyError as ex:
        refusal = str(ex)
    assert str(path) in refusal
