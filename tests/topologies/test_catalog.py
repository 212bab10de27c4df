# SPDX-License-Identifier: Apache-2.0
import inspect
import re

import pytest

from topologies import TopologyError, full_mesh, ub_pod, ub_rack
from topologies.catalog import build, describe, names


def test_names_build_what_they_say() -> None:
    assert names() == (
        "any-to-any",
        "dcn-plus",
        "full-mesh",
        "hpn",
        "lumos",
        "rail-only",
        "rail-optimised",
        "ub-pod",
        "ub-pod-clos",
        "ub-rack",
        "ub-rack-1dfm-a",
        "ub-rack-1dfm-b",
        "ub-rack-clos",
        "ub-rack-lrs",
        "ub-superpod",
    )
    assert build("ub-rack", lane_rate_bps=5) == ub_rack(lane_rate_bps=5)
    assert build("full-mesh", dims=[3, 3], lanes=1) == full_mesh([3, 3], lanes=1)
    small = {"dims": (2, 2, 2, 1), "planes": 1, "uplink_lanes": 4}
    assert build("ub-pod", **small) == ub_pod(**small)


@pytest.mark.parametrize("name", names())
def test_descriptions_match_the_generators(name: str) -> None:
    generator = describe(name)
    signature = inspect.signature(generator.build)
    assert [parameter.name for parameter in generator.parameters] == list(signature.parameters)
    for parameter in generator.parameters:
        default = signature.parameters[parameter.name].default
        assert parameter.default == (None if default is inspect.Parameter.empty else default)
        assert parameter.text


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("ub-rak", {}, "no topology named 'ub-rak'; there are any-to-any, dcn-plus"),
        ("ub-rack", {"dims": [8, 8]}, "no parameter named 'dims'; parameters of ub-rack: lane_rate_bps"),
        ("full-mesh", {}, "parameter dims is missing"),
        ("rail-only", {"inside": 1}, "parameter inside is 1; its kind is text"),
        ("full-mesh", {"dims": "88"}, "parameter dims is '88'; its kind is list of integers"),
        ("full-mesh", {"dims": [8, True]}, "its kind is list of integers"),
        ("ub-rack", {"lanes": 4.0}, "parameter lanes is 4.0; its kind is integer"),
        ("ub-rack", {"lane_rate_bps": 0}, "lane_rate_bps is 0; give a number above 0"),
        ("ub-rack", {"lanes": 6}, "links use 84 of 72 lanes"),
        ("ub-pod", {"dims": [2, 2]}, "dims [2, 2]: no such UB-Mesh; give 4 extents from 1: slots to 8"),
    ],
)
def test_what_cannot_be_built_is_refused_with_the_remedy(name: str, params: dict, message: str) -> None:
    with pytest.raises(TopologyError, match=re.escape(message)):
        build(name, **params)
