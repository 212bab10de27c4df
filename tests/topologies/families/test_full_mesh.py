# SPDX-License-Identifier: Apache-2.0
from math import prod

import pytest

from topologies import TopologyError, full_mesh
from topologies.model.checks import problems


@pytest.mark.parametrize("dims", [[2], [8], [4, 4], [2, 3, 4], [8, 8, 2], [2, 2, 2, 2]])
def test_counts_follow_from_the_dimensions(dims: list[int]) -> None:
    mesh = full_mesh(dims)
    nodes, degree = prod(dims), sum(size - 1 for size in dims)
    assert len(mesh.nodes) == nodes
    assert len(mesh.links) == nodes * degree // 2
    assert all(len(node.ports) == degree + 1 for node in mesh.nodes)
    assert problems(mesh) == []


def test_pod_sized_mesh_has_the_published_degree() -> None:
    pod = full_mesh([8, 8, 4, 4], lanes=2)
    assert len(pod.nodes) == 1024
    assert len(pod.neighbours("npu1023")) == 20


@pytest.mark.parametrize(
    ("dims", "message"),
    [
        ([], r"dims is \[\]; give a list of whole numbers of at least 2"),
        ([8, 1], r"dims is \[8, 1\]"),
        ([8, 0], r"dims is \[8, 0\]"),
        ([-3], r"dims is \[-3\]"),
        ([257], r"dims \[257\] need 256 ports a node, but a source route can address only 255; use"),
        (
            [16, 16, 16, 16],
            r"dims \[16, 16, 16, 16\] have 65536 nodes, but there are only 8192 addresses; use smaller dims",
        ),
        (
            [5, 5, 5, 5, 5],
            r"dims \[5, 5, 5, 5, 5\] need addresses of 18 bits; an address has 16; use smaller dims",
        ),
    ],
)
def test_dimensions_that_cannot_be_built_are_refused(dims: list[int], message: str) -> None:
    with pytest.raises(TopologyError, match=message):
        full_mesh(dims)


@pytest.mark.parametrize("name", ["lane_rate_gbps", "lanes", "host_lanes"])
@pytest.mark.parametrize("value", [0, -1])
def test_nothing_is_built_with_a_rate_of_nothing(name: str, value: int) -> None:
    with pytest.raises(TopologyError, match=f"{name} is {value}"):
        full_mesh([4], **{name: value})


def test_a_negative_delay_is_refused() -> None:
    with pytest.raises(TopologyError, match="delay_ns is -1"):
        full_mesh([4], delay_ns=-1)
