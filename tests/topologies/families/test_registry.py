# SPDX-License-Identifier: Apache-2.0
import re
from pathlib import Path
from typing import Annotated

import pytest

from topologies import Fabric, TopologyError, full_mesh, ub_pod, ub_rack
from topologies.families import registry
from topologies.families.declaration import UNITS, Family, Source, Spec, family
from topologies.families.registry import build, families, find, names


def test_names_build_what_they_say() -> None:
    assert names() == (
        "any-to-any",
        "bcube",
        "dcn-plus",
        "dragonfly",
        "dragonfly-plus",
        "ecmp-clos",
        "fat-tree",
        "full-mesh",
        "hpn",
        "hyperx",
        "jellyfish",
        "lumos",
        "optical-rings",
        "rail-only",
        "rail-optimised",
        "slim-fly",
        "torus",
        "ub-pod",
        "ub-pod-clos",
        "ub-rack",
        "ub-rack-1dfm-a",
        "ub-rack-1dfm-b",
        "ub-rack-clos",
        "ub-rack-lrs",
        "ub-superpod",
    )
    assert build("ub-rack", lane_rate_gbps=5) == ub_rack(lane_rate_gbps=5)
    assert build("full-mesh", dims=[3, 3], lanes=1) == full_mesh([3, 3], lanes=1)
    small = {"dims": (2, 2, 2, 1), "planes": 1, "uplink_lanes": 4}
    assert build("ub-pod", **small) == ub_pod(**small)


@pytest.mark.parametrize("declared", families(), ids=lambda declared: declared.name)
def test_defaults_are_in_range_and_survive_the_command_line(declared: Family[...]) -> None:
    for parameter in declared.parameters:
        assert parameter.text
        # A number that counts nothing is a physical quantity, whose name says in which unit it is.
        assert (parameter.unit in UNITS.values()) == (parameter.kind == "number")
        if parameter.default is not None:
            assert parameter.accepts(parameter.default)
            assert parameter.parse(parameter.spell(parameter.default)) == parameter.default


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("ub-rak", {}, "no topology named 'ub-rak'; did you mean ub-rack"),
        ("xyz", {}, "no topology named 'xyz'; there are any-to-any, bcube, dcn-plus"),
        ("ub-rack", {"dims": [8, 8]}, "no parameter named 'dims'; parameters of ub-rack: lane_rate_gbps"),
        ("ub-rack", {"lane": 4}, "no parameter named 'lane'; did you mean 'lanes'? parameters of ub-rack:"),
        ("full-mesh", {}, "topology full-mesh: dims is missing; give dims: nodes in each dimension"),
        ("rail-only", {"inside": 1}, "inside is 1; give mesh or switch"),
        ("lumos", {"wiring": "none"}, "wiring is 'none'; give cross, uniform or dual-link"),
        ("rail-only", {"optical": 1}, "optical is 1; give true or false"),
        ("full-mesh", {"dims": "88"}, "dims is '88'; give a list of whole numbers of at least 2"),
        ("full-mesh", {"dims": [8, True]}, "dims is [8, True]; give a list of whole numbers of at least 2"),
        ("full-mesh", {"dims": (8, 1)}, "dims is [8, 1]; give a list of whole numbers of at least 2"),
        ("full-mesh", {"dims": []}, "dims is []; give a list of whole numbers of at least 2"),
        ("ub-rack", {"lanes": 4.0}, "lanes is 4.0; give a whole number of at least 1"),
        ("ub-rack", {"lane_rate_gbps": 0}, "lane_rate_gbps is 0; give a number above 0"),
        ("ub-rack", {"delay_ns": float("nan")}, "delay_ns is nan; give a number of at least 0"),
        ("ub-pod", {"planes": 9}, "planes is 9; give a whole number from 1 to 8"),
        ("ub-rack", {"lanes": 6}, "links use 84 of 72 lanes"),
        ("ub-pod", {"dims": [2, 2]}, "dims [2, 2] do not make a UB-Mesh; give 4 extents from 1: slots to 8"),
    ],
)
def test_what_cannot_be_built_is_refused_with_the_remedy(name: str, params: dict, message: str) -> None:
    with pytest.raises(TopologyError, match=re.escape(message)):
        build(name, **params)


def test_a_call_from_python_checks_the_range_of_every_parameter() -> None:
    with pytest.raises(
        TopologyError, match="topology full-mesh: lanes is 0; give a whole number of at least 1"
    ):
        full_mesh([2, 2], lanes=0)


@family("NPUs in a row", source=Source("a paper", "a section"))
def row(
    npus: Annotated[int, Spec("NPUs", at_least=2)] = 4,
    *,
    delay_ns: Annotated[float, Spec("propagation delay of a link", at_least=0)] = 5,
) -> Fabric:
    """Build a row."""
    return full_mesh([npus], delay_ns=delay_ns)


@pytest.fixture
def fresh_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry.REGISTRY, "_values", dict(registry.REGISTRY._values))
    monkeypatch.setattr(registry.REGISTRY, "_points", None)
    monkeypatch.setattr(registry.REGISTRY, "_loaded", {})


@pytest.mark.usefixtures("fresh_registry")
def test_a_family_is_registered_by_a_call() -> None:
    registry.register(row)
    assert "row" in names()
    assert find("row").source == Source("a paper", "a section")
    assert build("row", npus=3, delay_ns=0.5).links[0].delay_ps == 500
    with pytest.raises(TopologyError, match="topology row exists already"):
        registry.register(row)


def installed(folder: Path, points: str) -> None:
    """Write what an installed package leaves that declares entry points."""
    (folder / "rows-1.dist-info").mkdir()
    (folder / "rows-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: rows\nVersion: 1\n")
    (folder / "rows-1.dist-info" / "entry_points.txt").write_text(f"[{registry.GROUP}]\n{points}")
    (folder / "rows.py").write_text(
        "from topologies import Fabric, full_mesh\n"
        "from topologies.families.declaration import family\n"
        "@family('four NPUs in a row')\n"
        "def four() -> Fabric:\n"
        "    return full_mesh([4])\n"
    )


@pytest.mark.usefixtures("fresh_registry")
def test_an_installed_package_adds_a_family_by_an_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(tmp_path, "four = rows:four\nempty = rows:no_such\nother = rows:four\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert {"four", "empty", "other", "hpn"} <= set(names())
    assert build("four").dims == (4,)
    with pytest.raises(TopologyError, match="topology empty: cannot load rows:no_such"):
        find("empty")
    with pytest.raises(TopologyError, match=r"topology other: .* not a family of that name"):
        find("other")


def test_an_argument_without_a_declaration_is_refused_at_once() -> None:
    def bare(npus: int = 4) -> Fabric:
        return full_mesh([npus])

    with pytest.raises(TypeError, match="argument npus has no Spec"):
        _ = family("a row")(bare).parameters
