# SPDX-License-Identifier: Apache-2.0
"""Sources with a path over a link are those of all candidate and standby paths."""

import pytest

from controller import make_plan
from controller.plan.entry import hops_of
from topologies import Fabric
from topologies.families.ub_mesh.fabrics import ub_pod, ub_rack


@pytest.mark.parametrize("fabric", [ub_rack(), ub_pod(dims=(2, 2, 2, 2), planes=2, uplink_lanes=8)])
def test_a_link_has_the_sources_of_all_paths_over_it(fabric: Fabric) -> None:
    plan = make_plan(fabric, standby=4)
    expected: dict[str, set[str]] = {link.name: set() for link in fabric.links}
    for (source, destination), candidates in plan.candidates.items():
        for path in (*candidates, *plan.routes[source, destination]):
            for hop in hops_of(path):
                for link in fabric.links_between(*hop):
                    expected[link.name].add(source)
    order = {node.name: node.index for node in fabric.nodes}
    assert {name: list(sources) for name, sources in plan.subscribers.items()} == {
        name: sorted(sources, key=order.__getitem__) for name, sources in expected.items()
    }
    for link, sources in plan.subscribers.items():
        assert [node.name for node in fabric.nodes if plan.notifies(node.name, link)] == [*sources]
    assert list(plan.subscribers) == [link.name for link in fabric.links]
    assert "npu0-nobody" not in plan.subscribers
