# SPDX-License-Identifier: Apache-2.0
"""Members, their grid and the links between them: rails, meshes, and refused requests."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from controller.schemes.registry import routing_of
from harness.errors import ScenarioError
from harness.report.figures.heat_map import heat_map_svg
from harness.run.collectives.bounds import bound_ps
from harness.run.collectives.grids import dimension_rates, grid_of, groups_of, members_of, out_bps, split_grid
from harness.run.observation.traffic_matrix import TrafficMatrix, traffic_matrix
from harness.run.prepare import Prepared, prepare
from harness.run.runner import observe
from harness.scenario.loader import load
from harness.scenario.schema import Collective
from topologies import Fabric, any_to_any, full_mesh, hpn, rail_only, rail_optimised, ub_rack

Write = Callable[[str], Path]

A100_HB, A100_NIC = 2_400_000_000_000, 200_000_000_000


def prepared(write: Write, text: str) -> Prepared:
    return prepare(*load(write(f"name: small\n{text}")))[0]


def test_members_are_all_the_first_or_those_named():
    fabric = rail_only(domains=2, hb_size=4)
    every = members_of(fabric, None)
    assert every == tuple(f"gpu{number}" for number in range(8))
    assert members_of(fabric, 3) == every[:3]
    assert members_of(fabric, ["gpu6", "gpu1..gpu3"]) == ("gpu1", "gpu2", "gpu3", "gpu6")
    assert members_of(ub_rack(), 64)[-1] == "npu63"


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        (9, "which is 8; give a number up to 8"),
        (["gpu1", "gpu0..gpu2"], "gpu0..gpu2 is named twice"),
        (["gpu3..gpu1"], "gpu3..gpu1 ends before it begins"),
        (["gpu0", "rail0"], "rail0 is not an NPU or GPU, so it cannot be a member; name nodes such as gpu0"),
    ],
)
def test_members_that_cannot_be(wanted: int | Sequence[str], why: str):
    with pytest.raises(ScenarioError) as caught:
        members_of(rail_only(domains=2, hb_size=4), wanted)
    assert why in str(caught.value)


def test_a_grid_cuts_dimensions_and_nothing_else():
    assert split_grid((8, 16), None) == (0, 1)
    assert split_grid((8, 16), (8, 4, 4)) == (0, 1, 1)
    assert split_grid((8, 16), (2, 4, 16)) == (0, 0, 1)
    for wrong in ((4, 32), (8, 3, 5), (8, 16, 2), (8,), (128,), (3, 8, 16)):
        with pytest.raises(ScenarioError, match="the dimensions of the members, which are 8 x 16"):
            split_grid((8, 16), wrong)


@pytest.mark.parametrize("inside", ["mesh", "switch"])
@pytest.mark.parametrize("make", [rail_only, rail_optimised])
def test_rates_of_dimensions_that_switches_join(make: Callable[..., Fabric], inside: str):
    """The NIC is dealt to the peers of the rail, the domain's own links to those of the domain."""
    fabric = make(domains=4, hb_size=8, inside=inside)
    members = members_of(fabric, None)
    grid = grid_of(fabric, members)
    assert grid == (8, 4)
    assert dimension_rates(fabric, members, (0, 1), grid) == pytest.approx((A100_HB / 7, A100_NIC / 3))
    # Cut in two, a rail is shared by as many peers as the two have.
    finer = dimension_rates(fabric, members, (0, 1, 1), (8, 2, 2))
    assert finer == pytest.approx((A100_HB / 7, A100_NIC / 2, A100_NIC / 2))


def test_what_leads_out_of_a_domain_are_its_nics():
    for inside in ("mesh", "switch"):
        fabric = rail_only(domains=4, hb_size=8, inside=inside)
        ranks, domains = groups_of(fabric, members_of(fabric, None))
        assert [out_bps(fabric, group.members) for group in domains] == [8 * A100_NIC] * 4
        assert len(ranks) == 8


def test_a_neighbour_with_a_single_link_is_outside_of_a_group():
    """Only switches join the group that surrounds them; each of two NPUs leaves by the link between them."""
    fabric = full_mesh((2,))
    ((first, second),) = groups_of(fabric, members_of(fabric, None))
    (link,) = fabric.links
    assert [out_bps(fabric, group.members) for group in (first, second)] == [link.rate_bps] * 2


def test_the_least_cut_of_a_job_is_what_its_hosts_can_send():
    """Eight GPUs, one a segment: each has NVLink, and its host two NICs of 400 Gbit/s."""
    fabric = hpn(segments=8, hosts=4, rails=2, aggs=2)
    members = [f"gpu{8 * segment}" for segment in range(8)]
    collective = Collective(kind="allreduce", elements=65536)
    bound = bound_ps(fabric, members, collective, routing_of(fabric, "hashed"))
    assert bound == pytest.approx(2 * 7 / 8 * collective.data_bytes * 8 / 800e9 * 10**12, rel=1e-6)
    every = bound_ps(fabric, members_of(fabric, None), collective, routing_of(fabric, "hashed"))
    assert every == pytest.approx(2 * 31 / 32 * collective.data_bytes * 8 / 800e9 * 10**12, rel=1e-6)


@pytest.mark.parametrize(
    ("kind", "share"),
    [("all-gather", 3 / 32), ("reduce-scatter", 3 / 32), ("allreduce", 6 / 32), ("all-to-all", 24 / 32)],
)
def test_bounds_on_rails_are_those_of_the_nics(kind: str, share: float):
    """(y - 1)/(x y) of D over a NIC; of an All-to-All x (y - 1) blocks of the x y (Rail-only's equations)."""
    for make in (rail_only, any_to_any):
        fabric = make(domains=4, hb_size=8)
        collective = Collective(kind=kind, elements=32 * 1024)  # type: ignore[arg-type]
        result = bound_ps(fabric, members_of(fabric, None), collective, routing_of(fabric, "all-path"))
        assert result == pytest.approx(share * collective.data_bytes * 8 / A100_NIC * 10**12, rel=1e-6)


def test_a_part_of_a_fabric_runs_on_a_finer_grid(write: Write):
    """TP in domains, then DP and PP along rails; who is not of the job hears nothing of it."""
    ready = prepared(
        write,
        "topology: {name: rail-only, domains: 8, hb_size: 4}\n"
        "routing: {strategy: shortest, peers: job}\n"
        "collective: {kind: mixture, elements: 4096, payload_bytes: 1024, members: 16, grid: [4, 2, 2], "
        "parts: [{kind: allreduce, share: 8, over: [0]}, {kind: p2p, share: 1, over: [2]}, "
        "{kind: allreduce, share: 2, over: [1]}]}\n",
    )
    seen = observe(ready, 3)
    assert (seen.correct_nodes, seen.nodes, seen.first_wrong) == (16, 16, "")
    assert seen.cross_rail_frames == 0
    outside = {f"gpu{number}" for number in range(16, 32)}
    quiet = [name for name in seen.link_bytes if outside & {ready.fabric.link(name).a.node}]
    assert quiet
    assert all(seen.link_bytes[name] == (0, 0) for name in quiet)


def test_two_steps_in_turn_take_longer_than_overlapped_and_as_long_as_the_equation(write: Write):
    """Rail-only's All-to-All: y (x - 1) blocks in the domain after x (y - 1) along the rail."""
    head = (
        "topology: {name: rail-only, domains: 2, hb_size: 4}\nrouting: {strategy: shortest}\n"
        "collective: {kind: all-to-all, elements: 262144, payload_bytes: 4096, order: [1, 0], overlap: %s}\n"
    )
    turns, loose = (observe(prepared(write, head % overlap), 1) for overlap in ("false", "true"))
    assert turns.correct_nodes == loose.correct_nodes == 8
    block = 262144 * 4 * 8 / 8
    rails, domains = 4 * block / A100_NIC, 2 * 3 * block / A100_HB
    assert turns.completion_ps / 10**12 == pytest.approx(rails + domains, rel=0.05)
    assert rails < loose.completion_ps / 10**12 < rails + domains


def test_frames_that_cross_rails_are_counted_where_spines_join_them(write: Write):
    text = (
        "topology: {name: %s, domains: 2, hb_size: 2}\nrouting: {strategy: shortest}\n"
        "collective: {kind: %s, elements: 4096, payload_bytes: 1024}\n"
    )
    crossing = observe(prepared(write, text % ("rail-optimised", "all-to-all, algorithm: direct")), 1)
    assert crossing.cross_rail_frames
    assert crossing.cross_rail_frames >= 4
    for topology, kind in (
        ("rail-only", "all-to-all, algorithm: direct"),
        ("rail-optimised", "all-gather"),
        ("rail-optimised", "all-to-all"),
    ):
        assert observe(prepared(write, text % (topology, kind)), 1).cross_rail_frames == 0, (topology, kind)
    mesh = "topology: {name: full-mesh, dims: [2, 2]}\ncollective: {elements: 4096}\n"
    assert observe(prepared(write, mesh), 1).cross_rail_frames is None


@pytest.mark.parametrize(
    ("collective", "why"),
    [
        ("{kind: all-to-all, order: [0]}", "order (0,) must name each of 2 dimensions once"),
        ("{kind: all-gather, order: [0, 0]}", "order (0, 0) must name each of 2 dimensions once"),
        ("{kind: broadcast, order: [0, 1]}", "`order:` is for dimension-wise and partitions"),
        (
            "{kind: all-to-all, grid: [2, 3]}",
            "the grid 2 x 3 does not divide the dimensions of the members, which are 2 x 2",
        ),
        ("{kind: all-to-all, members: 5}", "`members: 5` is more than"),
        ("{kind: all-to-all, members: [gpu0, gpu3]}", "no full mesh of whole lines"),
        ("{kind: all-to-all, members: [gpu0, gpu33]}", "no node named 'gpu33'"),
        ("{kind: all-to-all, members: 1}", "collective.members: 1 "),
        (
            "{kind: mixture, parts: [{kind: all-gather, share: 1, over: [1], order: [1]}]}",
            "`order: [1]` of a part names a dimension that it lacks: it has 1",
        ),
    ],
)
def test_what_is_refused_names_the_line(write: Write, collective: str, why: str):
    text = f"topology: {{name: rail-only, domains: 2, hb_size: 2}}\ncollective: {collective}\n"
    with pytest.raises(ScenarioError) as caught:
        prepared(write, text)
    assert why in str(caught.value)
    assert ":3" in str(caught.value)


def test_the_traffic_matrix_is_what_a_schedule_sends(write: Write):
    ready = prepared(
        write,
        "topology: {name: rail-only, domains: 2, hb_size: 4}\n"
        "collective: {kind: all-gather, elements: 8192, order: [1, 0]}\n",
    )
    sent = traffic_matrix([ready.sliced.schedule], ready.fabric, ready.members)
    assert sent.groups == (4,)
    assert sent.cells(1)[0].tolist() == [0, 8192, 8192, 8192, 4096, 0, 0, 0]
    assert str(sent) == "32 of 56 ordered pairs send data; 85.7 % of the bytes stay inside the groups"
    assert heat_map_svg(sent) == heat_map_svg(sent)
    assert heat_map_svg(sent).startswith("<svg")


def _dense(matrix: NDArray[np.float64]) -> TrafficMatrix:
    sources, targets = np.nonzero(matrix)
    return TrafficMatrix(len(matrix), sources, targets, matrix[sources, targets], ())


def test_many_ranks_share_cells():
    matrix = np.arange(300.0 * 300).reshape(300, 300)
    cells = _dense(matrix).cells(3)
    assert cells.shape == (100, 100)
    assert cells[1, 2] == matrix[3:6, 6:9].mean()
    assert _dense(np.ones((129, 129))).cells(2).tolist() == [[1.0] * 65] * 65
    mesh = full_mesh((2, 2))
    assert grid_of(mesh, members_of(mesh, None)) == (2, 2)
