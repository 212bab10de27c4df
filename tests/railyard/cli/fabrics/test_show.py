# SPDX-License-Identifier: Apache-2.0
"""railyard show on fabrics with switches, and their pictures."""

import xml.etree.ElementTree as ET
from collections.abc import Callable
from functools import partial
from pathlib import Path

import networkx as nx
import pytest

from harness.report.figures.fabric import fabric_svg, too_large
from topologies import (
    Fabric,
    any_to_any,
    full_mesh,
    rail_only,
    rail_optimised,
    ub_pod,
    ub_rack_1dfm_a,
    ub_rack_clos,
    ub_rack_lrs,
    ub_superpod,
)

SVG = "{http://www.w3.org/2000/svg}"


def test_show_tells_kinds_tiers_and_lanes(railyard) -> None:
    code, out, _ = railyard("show", "ub-pod")
    assert code == 0
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "nodes 1024 npu, 16 spare, 16 cpu, 1152 lrs" in lines
    assert "npu 1024: 18 neighbours each, 72 of 72 lanes on links" in lines
    assert "lrs, tier 3 512: 16 neighbours each, 64 of 72 lanes on links" in lines
    assert "longest shortest path 6 links" in lines
    tiers = [line.split(":")[0] for line in lines if line.startswith("lrs, tier")]
    assert tiers == ["lrs, tier 1 512", "lrs, tier 2 128", "lrs, tier 3 512"]


FAMILY = """
from collections.abc import Sequence
from typing import Annotated

import networkx as nx
from topologies import Fabric, from_graph
from topologies.families.declaration import Spec, family


@family("NPUs on a circle with chords")
def circulant(
    npus: Annotated[int, Spec("NPUs", at_least=3)] = 16,
    offsets: Annotated[Sequence[int], Spec("lengths of chords", at_least=1)] = (1, 4),
) -> Fabric:
    return from_graph(nx.circulant_graph(npus, offsets), "circulant")


def ring(npus=4):
    return nx.cycle_graph(npus)
"""


@pytest.mark.parametrize("offsets", ["1x3x5", "1,3,5", "[1, 3, 5]"])
def test_show_reads_parameters_of_a_family_in_a_file_by_their_kind(
    railyard, tmp_path: Path, offsets: str
) -> None:
    (tmp_path / "mine.py").write_text(FAMILY)
    own = f"{tmp_path}/mine.py:circulant"
    code, out, err = railyard("show", own, "--param", "npus=12", "--param", f"offsets={offsets}")
    assert (code, err) == (0, "")
    assert "6 neighbours each" in out
    code, _, err = railyard("show", own, "--param", "npus=many")
    assert code == 2
    assert "write it like npus=16" in " ".join(err.split())


def test_list_shows_the_parameters_of_a_family_in_a_file(railyard, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(FAMILY)
    code, out, _ = railyard("list", f"{tmp_path}/mine.py:circulant")
    assert code == 0
    assert ["offsets", "at", "least", "1", "1x4"] in [line.split()[:5] for line in out.splitlines()]
    code, _, err = railyard("list", f"{tmp_path}/mine.py:ring")
    assert code == 2
    assert "declares no parameters" in err
    assert "by `python: FILE.py:NAME`" in railyard("list", "circulant")[2]


def test_show_of_a_graph_does_not_count_the_hosts_port_as_a_lane(railyard, tmp_path: Path) -> None:
    nx.write_graphml(nx.cycle_graph(["a", "b", "c"]), tmp_path / "ring.graphml")
    code, out, _ = railyard("show", str(tmp_path / "ring.graphml"))
    assert code == 0
    assert "3: 2 neighbours each, 2 of 2 lanes on links" in " ".join(out.split())


def test_show_tells_where_the_ports_of_a_switch_lead(railyard) -> None:
    code, out, _ = railyard("show", "ub-rack-lrs", "--node", "lrs0p0n3")
    assert code == 0
    assert "lrs, tier 1, coordinates (3, 0), address 0x6003" in " ".join(out.split())
    assert "npu24-lrs0p0n3" in out
    assert "its host" not in out
    assert "its host" in railyard("show", "ub-rack-lrs", "--node", "spare0")[1]


def test_show_draws_what_is_small_enough(railyard, tmp_path: Path) -> None:
    picture = tmp_path / "pod.svg"
    assert railyard("show", "ub-pod", "--dims", "2x2x2x1", "--svg", picture)[0] == 0
    assert len(list(ET.parse(picture).iter(f"{SVG}circle"))) == 60
    code, _, err = railyard("show", "ub-pod", "--svg", picture)
    assert code != 0
    assert "2208 nodes and 19072 links are too many to draw" in err


@pytest.mark.parametrize(
    "fabric",
    [
        ub_rack_lrs(),
        ub_rack_1dfm_a(),
        ub_rack_clos(dims=(2, 2), lrs=20),
        ub_superpod(dims=(2, 2, 2, 2, 2), planes=1, uplink_lanes=4),
        rail_only(8, 4, radix=4),
        rail_optimised(4, 8, radix=8, inside="switch"),
        rail_optimised(32, 8, radix=16),
        any_to_any(8, 2, radix=4, inside="switch"),
    ],
    ids=lambda fabric: fabric.name,
)
def test_every_node_and_link_is_drawn_in_a_place_of_its_own(fabric: Fabric) -> None:
    root = ET.fromstring(fabric_svg(fabric, {link.name: (0.5, 0.25) for link in fabric.links}))
    places = {(circle.get("cx"), circle.get("cy")) for circle in root.iter(f"{SVG}circle")}
    assert len(places) == len(fabric.nodes)
    left, top, width, height = (float(number) for number in root.attrib["viewBox"].split())
    assert all(0 < float(x or 0) - left < width and 0 < float(y or 0) - top < height for x, y in places)
    titles = {path.findtext(f"{SVG}title", "").partition(":")[0] for path in root.iter(f"{SVG}path")}
    assert titles >= {link.name for link in fabric.links}


@pytest.mark.parametrize(
    "build", [ub_pod, partial(full_mesh, [8, 8, 4, 4], lanes=2)], ids=["ub-pod", "full-mesh"]
)
def test_what_is_too_large_says_so_in_place_of_a_picture(build: Callable[[], Fabric]) -> None:
    fabric = build()
    assert too_large(fabric)
    root = ET.fromstring(fabric_svg(fabric))
    words = " ".join(text.text or "" for text in root.iter(f"{SVG}text"))
    assert fabric.name in words
    assert "too many to draw; at most 6000 links" in words


def test_show_takes_parameters(railyard) -> None:
    wide = "domains=64", "hb_size=2", "radix=8", "inside=switch"
    given = [part for text in wide for part in ("--param", text)]
    code, out, _ = railyard("show", "rail-only", *given)
    assert code == 0
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "nodes 128 gpu, 64 hbs, 32 rail, 32 spine, 16 core" in lines
    assert "rail, tier 2 32: 8 neighbours each, 8 of 8 lanes on links" in lines
    assert "address bits class 3 | pad 6 | domain 6 | rank 1" in lines


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("radix", "'radix' has no `=`; write it like radix=64"),
        ("radix=many", "'radix=many' cannot be read; write it like"),
        ("colour=red", "no parameter named 'colour'"),
    ],
)
def test_a_parameter_that_is_none_is_refused(railyard, text: str, message: str) -> None:
    code, _, err = railyard("show", "rail-only", "--param", text)
    assert code != 0
    assert message in " ".join(err.split())


def test_a_parameter_may_be_a_list(railyard) -> None:
    assert railyard("show", "full-mesh", "--param", "dims=2x3")[0] == 0
    assert "write it like dims=4x4" in railyard("show", "full-mesh", "--param", "dims=2y3")[2]


def test_leaves_stand_above_their_rails() -> None:
    root = ET.fromstring(fabric_svg(rail_only(4, 8)))
    at = {
        circle[0].text: (circle.get("cx"), float(circle.get("cy") or 0))
        for circle in root.iter(f"{SVG}circle")
    }
    for rank in range(8):
        assert at[f"rail{rank}"][0] == at[f"gpu{rank}"][0] == at[f"gpu{24 + rank}"][0]
        assert at[f"rail{rank}"][1] < at[f"gpu{rank}"][1] < at[f"gpu{24 + rank}"][1]


def test_an_unknown_node_is_answered_by_a_name_of_each_kind(railyard):
    code, _, err = railyard("show", "rail-optimised", "--node", "xyz")
    assert (code, "nodes are named like gpu0, rail0, spine0" in " ".join(err.split())) == (2, True)
    code, _, err = railyard("show", "full-mesh", "--dims", "2x2", "--node", "xyz")
    assert "nodes are named like npu0, npu1, npu2" in " ".join(err.split())
