# SPDX-License-Identifier: Apache-2.0
"""Sources with a path over a link: one link at a time, as of all links at once."""

import pytest

from controller import make_plan
from controller.plan.subscribers import Subscribers
from topologies import Fabric
from topologies.families.ub_mesh.fabrics import ub_pod, ub_rack


@pytest.mark.parametrize("fabric", [ub_rack(), ub_pod(dims=(2, 2, 2, 2), planes=2, uplink_lanes=8)])
def test_a_single_link_has_the_sources_that_it_has_among_all(fabric: Fabric) -> None:
    plan = make_plan(fabric, standby=4)
    links = [link.name for link in fabric.links]
    every = dict(Subscribers(fabric, plan.candidates, plan.routes))
    assert list(every) == links
    for name in links[:: max(1, len(links) // 40)]:
        single = Subscribers(fabric, plan.candidates, plan.routes)
        assert single[name] == every[name], name
    one_by_one = Subscribers(fabric, plan.candidates, plan.routes)
    assert [one_by_one[name] for name in links[:20]] == [every[name] for name in links[:20]]
    assert "npu0-nobody" not in Subscribers(fabric, plan.candidates, plan.routes)
