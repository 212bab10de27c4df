# SPDX-License-Identifier: Apache-2.0
"""Groups looked up for one destination are those of the table entries, whatever has failed."""

import random
from collections.abc import Callable

import pytest

from controller.forwarding.next_hop import neighbour_at, table_path, table_paths
from controller.forwarding.pipeline import DropReason, Frame, Pipeline, Tables
from controller.planner import make_plan
from controller.recovery.shared_schemes import SharedSchemes
from controller.schemes.registry import scheme_for
from topologies import Fabric, dcn_plus, hpn

FABRICS: dict[str, Callable[[], Fabric]] = {
    "two planes": lambda: hpn(2, 2, 2, aggs=3),
    "one plane": lambda: hpn(2, 2, 2, aggs=2, planes=1),
    "cores": lambda: hpn(2, 2, 2, aggs=2, pods=2, cores=2),
    "trunks": lambda: dcn_plus(2, 2, 1, 2, aggs=2, trunk=2),
}
HASHES = range(0, 1 << 16, 1021)


@pytest.fixture(scope="module", params=FABRICS)
def fabric(request: pytest.FixtureRequest) -> Fabric:
    return FABRICS[request.param]()


def failures(fabric: Fabric) -> list[frozenset[str]]:
    """Nothing, one link, a few links, and all links of a ToR."""
    choice = random.Random(1)
    names = [link.name for link in fabric.links]
    tor = next(node.name for node in fabric.nodes if node.level)
    dead = frozenset(link.name for link in fabric.links if tor in (link.a.node, link.b.node))
    return [frozenset(), dead, *(frozenset(choice.sample(names, count)) for count in (1, 1, 3, 6, 12))]


def test_groups_are_those_of_the_entries(fabric: Fabric) -> None:
    gpus = list(fabric.endpoints)
    for failed in failures(fabric):
        scheme = scheme_for(fabric, failed=failed)
        for node in fabric.nodes:
            table = scheme.ecmp_table(node.name)
            assert (table is not None) == node.is_switch
            pipeline = Pipeline(Tables(scheme.address_entries(node.name)))
            for gpu in gpus if table else ():
                assert table is not None
                group = table.group_of(scheme.finder, gpu.address)
                action = pipeline.routing_action(gpu.address)
                for flow_hash in HASHES:
                    if isinstance(action, DropReason):
                        expected = None
                    else:
                        frame = Frame(gpu.address, flow_hash, lb_mode=1)
                        port = pipeline.port_of(action, frame)
                        assert not isinstance(port, DropReason)
                        expected = neighbour_at(fabric, node.name, port)
                    assert group.select(flow_hash) == expected


def test_paths_of_several_values_are_those_of_each(fabric: Fabric) -> None:
    ends = [node.name for node in fabric.endpoints]
    for failed in failures(fabric):
        scheme = scheme_for(fabric, failed=failed)
        for source, destination in zip(ends, reversed(ends), strict=True):
            paths = table_paths(scheme, source, destination, (source,), range(32))
            assert paths == [table_path(scheme, source, destination, lb) for lb in range(32)]


def test_searches_without_failures_are_used_again(fabric: Fabric) -> None:
    """Paths that start from those without failures are the paths of a search of their own."""
    plan = make_plan(fabric, strategy="hashed", peers=[])
    shared = SharedSchemes(plan)
    ends = [node.name for node in fabric.endpoints]
    for failed in failures(fabric):
        alone = scheme_for(fabric, failed=failed, strategy="hashed")
        scheme = shared.without(failed)
        for source, destination in zip(ends, reversed(ends), strict=True):
            assert scheme.shortest_paths(source, destination) == alone.shortest_paths(source, destination)
        fresh = SharedSchemes(make_plan(fabric, strategy="hashed", peers=[], failed=failed))
        for source in (node.name for node in fabric.nodes):
            for target in (node.name for node in fabric.nodes if node.name != source):
                assert shared.path_to(source, target, failed) == fresh.path_to(source, target, failed)
