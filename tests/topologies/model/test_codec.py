# SPDX-License-Identifier: Apache-2.0
import json

import pytest

from topologies import Fabric, TopologyError, full_mesh, ub_rack, ub_rack_clos, ub_superpod
from topologies.model.codec import from_json, to_json


@pytest.mark.parametrize(
    "fabric",
    [
        ub_rack(lane_rate_gbps=1e-9, delay_ns=0),
        full_mesh([3, 2, 4], lanes=1),
        full_mesh([2]),
        ub_rack_clos(),
        ub_superpod(dims=(3, 2, 2, 2, 2), planes=2, uplink_lanes=8, cpus=2),
    ],
)
def test_round_trip_is_exact(fabric: Fabric) -> None:
    text = to_json(fabric)
    assert from_json(text) == fabric
    assert to_json(from_json(text)) == text


def test_a_fabric_without_switches_has_no_word_of_tiers() -> None:
    document = json.loads(to_json(ub_rack()))
    assert not {"tier", "lanes"} & set(document["nodes"][0])
    assert set(json.loads(to_json(ub_rack_clos()))["nodes"][-1]) >= {"tier", "lanes"}


def changed(path: list, value: object) -> str:
    document = json.loads(to_json(full_mesh([3])))
    place = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return json.dumps(document)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "Invalid JSON"),
        ("[]", "document"),
        (to_json(full_mesh([3]))[:-40], "Invalid JSON"),
        (changed(["format"], "railyard-fabric/2"), "format"),
        (changed(["colour"], "red"), "colour"),
        (changed(["links", 0, "speed"], 3), "links.0.speed"),
        (changed(["links", 0, "rate_bps"], "400"), "links.0.rate_bps"),
        (changed(["links", 0, "rate_bps"], 1.5), "links.0.rate_bps"),
        (changed(["links", 0, "rate_bps"], True), "links.0.rate_bps"),
        (changed(["dims"], ["3"]), "dims.0"),
        (changed(["nodes", 1, "kind"], "toaster"), "nodes.1.kind"),
        (changed(["nodes", 1, "ports", 0, "number"], 256), "nodes.1.ports.0.number"),
        (changed(["links", 0, "rate_bps"], 0), "link npu0-npu1: rate of 0 bit/s"),
        (changed(["nodes", 1, "tier"], -1), "nodes.1.tier"),
        (changed(["nodes", 1, "lanes"], 0), "nodes.1.lanes"),
        (changed(["nodes", 1, "tier"], 1), "npu1: has host port 0, but a node of tier 1 must have none"),
        (changed(["nodes", 1, "address"], 2), "address 0x0002 belongs to npu1, npu2"),
        (changed(["address_plan", "fields", 2, "bits"], 3), "17 bits"),
    ],
)
def test_a_document_that_is_not_right_says_where(text: str, named: str) -> None:
    with pytest.raises(TopologyError) as caught:
        from_json(text)
    assert named in str(caught.value)
