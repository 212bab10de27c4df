# SPDX-License-Identifier: Apache-2.0
"""Idle GPUs, idle domains and idle switches of rail-only fabrics, and what each can stand in for."""

import re
from collections.abc import Mapping
from typing import Any

import pytest

from topologies import Fabric, NodeKind, TopologyError, rail_only, ub_rack_lrs
from topologies.families.rails.domains import Inside
from topologies.families.registry import build
from topologies.model.checks import check, lane_audit
from topologies.model.circuits import crossconnect
from topologies.model.codec import from_json, to_json
from topologies.model.places import domains
from topologies.transform.remedies import remedies, serves, why_none
from topologies.transform.spares import (
    Replacement,
    cut_from,
    dark,
    has_spares,
    idle_switches,
    replaced,
    spares_for,
    standbys,
)

FULL = rail_only(4, 4, spares=1, spare_domains=1, spare_rails=1, optical=True)
PLAIN = rail_only(4, 4, spares=1)
NOBODY: frozenset[str] = frozenset()


def replacements(
    fabric: Fabric,
    lost: str,
    *,
    holders: Mapping[str, str] | None = None,
    down: frozenset[str] = NOBODY,
    failed: frozenset[str] = NOBODY,
) -> list[Replacement]:
    return list(remedies(fabric, lost, holders=holders or {}, down=down, is_gone=failed.__contains__))


def links_of(fabric: Fabric, name: str) -> frozenset[str]:
    return frozenset(fabric.link_between(name, neighbour).name for neighbour in fabric.neighbours(name))


@pytest.mark.parametrize("inside", ["mesh", "switch"])
@pytest.mark.parametrize("optical", [False, True])
@pytest.mark.parametrize(("spares", "spare_domains"), [(0, 0), (1, 0), (2, 1), (0, 2)])
def test_fabrics_with_spares_are_whole(
    inside: Inside, optical: bool, spares: int, spare_domains: int
) -> None:
    fabric = rail_only(3, 4, inside=inside, optical=optical, spares=spares, spare_domains=spare_domains)
    check(fabric)
    assert from_json(to_json(fabric)) == fabric
    kinds = [node.kind for node in fabric.nodes]
    assert kinds.count(NodeKind.GPU) == 12
    assert kinds.count(NodeKind.SPARE) == 4 * spare_domains + spares * (3 + spare_domains)
    assert [len(domain) for domain in domains(fabric)] == [4 + spares] * (3 + spare_domains)
    # Those that are none keep the numbers that they have without.
    assert [node.name for node in fabric.nodes[:12]] == [f"gpu{number}" for number in range(12)]
    assert len({lanes.unconnected for lanes in lane_audit(fabric).values()}) <= 3


def test_an_optical_switch_joins_each_gpu_to_its_rail_and_leaves_the_idle_dark() -> None:
    assert [switch.name for switch in FULL.optical] == [f"ocs{number}" for number in range(5)]
    assert crossconnect(FULL, "ocs1").items() >= {0: 5, 1: 6, 2: 7, 3: 8}.items()
    for domain in range(5):
        for rank in range(4):
            assert FULL.neighbours(f"gpu{4 * domain + rank}")[-1] == f"rail{rank}"
        ends = [end.node for end in FULL.optical_switch(f"ocs{domain}").ends]
        own = [f"gpu{4 * domain + rank}" for rank in range(4)]
        assert ends == [*own, f"spare{domain}", "rail0", "rail1", "rail2", "rail3", "sparerail0"]
    assert idle_switches(FULL) == ("sparerail0",)
    assert dark(FULL) == {f"spare{number}" for number in range(5)}
    assert FULL.link_between("gpu5", "rail1").dimension is None


def test_circuits_are_the_cables_that_are_there_without() -> None:
    plain, optical = rail_only(4, 4), rail_only(4, 4, optical=True)
    assert plain.nodes[0].ports == optical.nodes[0].ports
    for gpu in (f"gpu{number}" for number in range(16)):
        cable, circuit = (fabric.link_between(gpu, plain.neighbours(gpu)[-1]) for fabric in (plain, optical))
        assert (cable.rate_bps, cable.delay_ps, cable.lanes) == (
            circuit.rate_bps,
            circuit.delay_ps,
            circuit.lanes,
        )


def test_without_optical_switches_idle_gpus_are_on_rails_of_their_own() -> None:
    fabric = rail_only(3, 2, spares=2)
    assert fabric.neighbours("rail2") == ("spare0.0", "spare1.0", "spare2.0")
    assert fabric.neighbours("rail3") == ("spare0.1", "spare1.1", "spare2.1")
    assert fabric.neighbours("spare1.0") == ("gpu2", "gpu3", "spare1.1", "rail2")
    assert dark(fabric) == NOBODY


def test_an_idle_domain_is_wired_as_the_others_and_holds_no_member() -> None:
    fabric = rail_only(2, 3, spare_domains=1)
    assert fabric.neighbours("gpu7") == ("gpu6", "gpu8", "rail1")
    assert fabric.neighbours("rail1") == ("gpu1", "gpu4", "gpu7")
    assert standbys(fabric) == ("gpu6", "gpu7", "gpu8")
    assert not has_spares(rail_only(2, 3))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"spares": -1}, "spares is -1; give a whole number of at least 0"),
        ({"spare_domains": -1}, "spare_domains is -1; give a whole number of at least 0"),
        ({"spare_rails": -1}, "spare_rails is -1; give a whole number of at least 0"),
        (
            {"spare_rails": 1},
            "spare_rails is 1, but no optical switch leads to spare rails; add optical switches",
        ),
        (
            {"spare_rails": 1, "optical": True, "domains": 5, "radix": 4},
            "spare_rails is 1, but a rail has 3 leaves",
        ),
        (
            {"hb_size": 200, "spares": 56},
            "hb_size 200 and spares 56 need more ports than the 255 that a source route can address; use",
        ),
        ({"optical": True, "reconfiguration_us": -1}, "reconfiguration_us is -1"),
        ({"optical": 1}, "topology rail-only: optical is 1; give true or false"),
        ({"domains": 65, "spare_domains": 1, "radix": 2}, "radix"),
    ],
)
def test_what_cannot_be_is_refused_by_name(given: dict[str, Any], message: str) -> None:
    with pytest.raises(TopologyError, match=re.escape(message)):
        build("rail-only", **given)


def test_for_a_gpu_an_idle_one_first_then_an_idle_domain() -> None:
    idle, domain = replacements(FULL, "gpu5", failed=frozenset({"gpu5"}))
    assert idle.places == {"gpu5": "spare1"}
    assert list(idle.circuits) == ["ocs1"]
    after = replaced(FULL, idle)
    check_places(FULL, after, idle)
    assert after.neighbours("spare1")[-1] == "rail1"
    assert after.neighbours("rail1") == ("gpu1", "spare1", "gpu9", "gpu13", "gpu17")
    assert "rail1" not in after.neighbours("gpu5")
    assert domain.places == {"gpu4": "gpu16", "gpu5": "gpu17", "gpu6": "gpu18", "gpu7": "gpu19"}
    assert not domain.circuits


def test_for_a_switch_all_optical_switches_turn_to_a_spare_one() -> None:
    first = replacements(FULL, "gpu0", down=links_of(FULL, "rail0"), failed=frozenset({"rail0"}))[0]
    assert first.places == {"rail0": "sparerail0"}
    assert list(first.circuits) == [f"ocs{number}" for number in range(5)]
    after = replaced(FULL, first)
    check_places(FULL, after, first)
    assert after.neighbours("sparerail0") == FULL.neighbours("rail0")
    assert after.neighbours("rail0") == ()
    for rank in (1, 2, 3):
        assert after.neighbours(f"rail{rank}") == FULL.neighbours(f"rail{rank}")


def test_for_a_nic_an_idle_gpu_first_then_another_switch() -> None:
    nic = FULL.link_between("gpu5", "rail1").name
    places = [replacement.places for replacement in replacements(FULL, "gpu5", down=frozenset({nic}))]
    assert places[:2] == [{"gpu5": "spare1"}, {"rail1": "sparerail0"}]


def test_a_domain_moves_with_whoever_is_in_its_places() -> None:
    (idle,) = [
        replacement
        for replacement in replacements(FULL, "gpu5")
        if replacement.circuits and "gpu5" in replacement.places
    ]
    after = replaced(FULL, idle)
    *_, domain = replacements(after, "gpu6", holders={"gpu5": "spare1"}, failed=frozenset({"gpu5", "gpu6"}))
    assert domain.places == {"gpu4": "gpu16", "spare1": "gpu17", "gpu6": "gpu18", "gpu7": "gpu19"}
    moved = replaced(after, domain)
    plan = moved.address_plan
    for rank in range(4):
        address = plan.pack(domain=1, rank=rank)
        holder = moved.node_of(address)
        assert holder is not None
        assert holder.name == f"gpu{16 + rank}"


def check_places(before: Fabric, after: Fabric, replacement: Replacement) -> None:
    for failed, spare in replacement.places.items():
        assert after.node(spare).address == before.node(failed).address
        assert after.node(failed).address == before.node(spare).address
    others = {node.name for node in before.nodes} - {
        *replacement.places,
        *replacement.places.values(),
    }
    assert all(before.node(name) == after.node(name) for name in others)
    assert len({node.address for node in after.nodes}) == len(after.nodes)


def test_without_an_optical_switch_nothing_leads_an_idle_gpu_to_another_rail() -> None:
    assert replacements(PLAIN, "gpu5", failed=frozenset({"gpu5"})) == []
    said = why_none(PLAIN, "gpu5", used=(), is_gone={"gpu5"}.__contains__)
    assert said == ("no optical switch could lead spare1 from rail4 to rail1 and there is no idle domain")


@pytest.mark.parametrize(
    ("fabric", "used", "failed", "words"),
    [
        (rail_only(4, 4), (), {"gpu5"}, "its domain has no idle GPU and there is no idle domain"),
        (rail_only(4, 4), (), {"rail1"}, "rail1 is gone, with no spare rail switch left"),
        (FULL, ("spare1", "gpu16"), {"gpu5"}, "spare1 is used already and domain 4 is used already"),
        (FULL, (), {"gpu5", "spare1", "gpu18"}, "spare1 is gone and domain 4 has lost GPUs itself"),
    ],
)
def test_why_nothing_helps_is_said(
    fabric: Fabric, used: tuple[str, ...], failed: set[str], words: str
) -> None:
    assert why_none(fabric, "gpu5", used=used, is_gone=failed.__contains__) == words


def test_what_would_be_cut_off_itself_is_of_no_use() -> None:
    idle, domain = replacements(FULL, "gpu5", failed=frozenset({"gpu5"}))

    def useful(replacement: Replacement, *, failed: set[str], down: frozenset[str] = NOBODY) -> bool:
        return serves(FULL, "gpu5", replacement, down=down, is_gone=failed.__contains__)

    assert useful(idle, failed={"gpu5"})
    assert useful(domain, failed={"gpu5"})
    assert not useful(idle, failed={"gpu5", "rail1"})  # where the circuit would lead
    assert not useful(domain, failed={"gpu5", "rail3"})
    nic = frozenset({FULL.link_between("gpu18", "rail2").name})
    assert useful(idle, failed={"gpu5"}, down=nic)
    assert not useful(domain, failed={"gpu5"}, down=nic)
    inside = frozenset(FULL.link_between("spare1", f"gpu{number}").name for number in (4, 5, 6, 7))
    assert not useful(idle, failed={"gpu5"}, down=inside)


def test_a_gpu_needs_its_domain_and_the_network() -> None:
    nic = FULL.link_between("gpu5", "rail1").name
    inside = frozenset(
        FULL.link_between("gpu5", neighbour).name for neighbour in ("gpu4", "gpu6", "gpu7", "spare1")
    )
    assert cut_from(FULL, "gpu5") is None
    assert cut_from(FULL, "gpu5", {nic}) == "network"
    assert cut_from(FULL, "gpu5", inside) == "domain"
    assert cut_from(FULL, "gpu5", inside - {next(iter(inside))}) is None
    assert cut_from(FULL, "spare1") == "network"  # dark
    rack = ub_rack_lrs()
    assert cut_from(rack, "npu5", links_of(rack, "npu5")) is None  # it has one side only


def test_spares_stand_in_the_domain_or_in_the_rack() -> None:
    assert spares_for(FULL, "gpu5") == ("spare1",)
    assert spares_for(FULL, "gpu17") == ("spare4",)
    assert spares_for(rail_only(2, 2, spares=2), "gpu3") == ("spare1.0", "spare1.1")
    assert spares_for(ub_rack_lrs(), "npu5") == ("spare0",)


@pytest.mark.parametrize("places", [{"gpu0": "rail0"}, {"gpu0": "gpu0"}, {"gpu0": "gpu4", "gpu4": "gpu8"}])
def test_places_are_exchanged_once_and_among_equals(places: dict[str, str]) -> None:
    with pytest.raises(TopologyError, match="cannot take the address of"):
        replaced(FULL, Replacement(places))
