# SPDX-License-Identifier: Apache-2.0
"""The training model: bytes, lanes, places, and what follows from them by hand."""

from collections import Counter
from itertools import pairwise

import pytest

from harness.errors import ModelError
from papers.training.calibration import CASES, Case, compare
from papers.training.interconnect import Interconnect, Rack, interconnect, mesh
from papers.training.iteration import Assumptions, batch_of, best, iteration, linearity
from papers.training.placement import ORDERS, layouts, memory_bytes, place
from papers.training.workload import MODELS, Axis, Layout, Op, layer_demands, table_1, wire_bytes
from topologies.families.registry import build

LLAMA, GPT3, GPT4 = MODELS["llama2-70b"], MODELS["gpt3-175b"], MODELS["gpt4-2t"]


def lanes(net: Interconnect, name: str, size: int) -> float:
    """Return the lanes that an AllReduce along one dimension can use."""
    return 2 * (size - 1) / size / net.share(Op.allreduce, ((name, size),))


def test_table_1_comes_out_but_for_gradients():
    table = table_1()
    assert table["TP AllReduce"] == ((360.0, 4992),)
    assert table["SP AllGather"] == ((180.0, 4992), (360.0, 1664))
    assert table["EP All-to-All"] == ((10.5, 4992),)
    assert table["PP P2P"] == ((192.0, 26),)
    ((size, count),) = table["DP AllReduce"]
    assert count == 64
    assert 600 < size < 1000


def test_parameters_are_those_of_the_names():
    sizes = {name: model.parameters / 1e9 for name, model in MODELS.items()}
    assert sizes["llama2-70b"] == pytest.approx(70, rel=0.03)
    assert sizes["gpt3-175b"] == pytest.approx(175, rel=0.01)
    assert sizes["dense-1t"] == pytest.approx(1000, rel=0.01)
    assert sizes["gpt4-2t"] == pytest.approx(2000, rel=0.05)
    assert sizes["moe-10t"] == pytest.approx(10_000, rel=0.01)


def test_keys_of_fewer_heads_are_gathered_in_fewer_bytes():
    layout = Layout(tp=8, sp=8, pp=1, dp=1)
    gathered = {d.axis: d for d in layer_demands(LLAMA, layout, 8192) if d.op is Op.allgather}[Axis.sp]
    assert gathered.size == 8192 * 8192 * 8 / 64 / 8 * 2
    assert wire_bytes(gathered, 8) == gathered.size * 7 / 8


def test_an_axis_of_one_sends_nothing():
    assert layer_demands(GPT4, Layout(1, 1, 1, 1), 8192) == ()


def test_full_meshes_reach_their_bounds():
    assert mesh((8, 8)).share(Op.allreduce, (("x", 8), ("y", 8))) == pytest.approx(0.140625)
    assert mesh((8,)).share(Op.allreduce, (("x", 8),)) == pytest.approx(0.25)
    # 8 blocks of a 64th along each of 7 links, UB-Mesh's two partitions at once.
    assert mesh((8, 8)).share(Op.alltoall, (("x", 8), ("y", 8))) == pytest.approx(8 / 64)


@pytest.mark.parametrize(("size", "links"), [(2, 4), (4, 5), (8, 7)])
def test_detours_are_worth_half_of_what_is_idle(size: int, links: float):
    assert lanes(mesh((8,)), "x", size) == pytest.approx(links)


def test_lanes_of_a_rack_and_its_alternatives():
    assert lanes(interconnect(), "x", 8) == pytest.approx(28 + 16)
    assert lanes(interconnect(through=False), "x", 8) == pytest.approx(28)
    assert lanes(interconnect("clos", "clos"), "y", 8) == pytest.approx(72)
    assert lanes(interconnect("1d-fm-a", "clos"), "y", 8) == pytest.approx(32)
    assert lanes(interconnect("1d-fm-b", "clos"), "pod", 8) == pytest.approx(32)


@pytest.mark.parametrize(
    ("name", "rack", "resources"),
    [
        ("ub-rack-lrs", "2d-fm", {"NPU 0": "x", "NPU 1": "y", "LRS": "up"}),
        ("ub-rack-1dfm-a", "1d-fm-a", {"NPU 0": "x", "LRS": "lrs", "HRS": "up"}),
        ("ub-rack-1dfm-b", "1d-fm-b", {"NPU 0": "x", "HRS": "up"}),
        ("ub-rack-clos", "clos", {"LRS": "up"}),
    ],
)
def test_lanes_are_those_of_the_fabrics(name: str, rack: Rack, resources: dict[str, str]):
    fabric = build(name)
    result: Counter[str] = Counter()
    for link in fabric.links:
        if "npu0" in (link.a.node, link.b.node):
            kind = fabric.node(link.far("npu0").node).kind.name
            result[kind if link.dimension is None else f"{kind} {link.dimension}"] += link.lanes
    model = interconnect(rack, "clos").lanes
    assert {kind: result[kind] for kind in resources} == {
        kind: model[name] for kind, name in resources.items()
    }


def test_lanes_between_racks_by_paths():
    assert [lanes(interconnect(paths=paths), "z", 2) for paths in ("shortest", "detour", "borrow")] == (
        pytest.approx([2, 4, 8])
    )
    assert lanes(interconnect(racks="clos"), "z", 2) == pytest.approx(16)
    assert lanes(interconnect(), "pod", 8) == pytest.approx(4)


def test_lanes_taken_from_peers_leave_an_npu_its_72():
    for uplink in (4, 8, 16, 32):
        assert interconnect(uplink=uplink, trade=True).own_lanes == 72
    assert interconnect(uplink=32).own_lanes == 88


def test_what_leads_nowhere_is_said():
    with pytest.raises(ModelError, match="full mesh 4: the interconnect has no dimension 'y'"):
        mesh((4,)).share(Op.allgather, (("y", 2),))
    with pytest.raises(ModelError, match="an NPU cannot have 72 uplink lanes; use 1 to 71"):
        interconnect(uplink=72)


def test_places_are_dealt_from_the_inside_out():
    placed = place(Layout(tp=16, sp=8, pp=4, dp=16, ep=16))
    assert placed.where == "TP x8 y2, SP y4 z2, PP z2 w2, DP w2 pod8, EP y4 z2 w2"
    assert placed.replicas == (("y", 4), ("z", 2), ("w", 2), ("pod", 8))
    assert placed.expert_replicas == (("pod", 8),)


def test_bad_sizes_are_said():
    with pytest.raises(
        ModelError, match="a group has 3 members, which is not a power of two; use a power of two"
    ):
        place(Layout(3, 1, 1, 1))
    with pytest.raises(ModelError, match="the layout has more NPUs than the interconnect"):
        place(Layout(64, 1024, 128, 64))


def test_every_layout_keeps_the_rules():
    result = list(layouts(GPT4, 1024, 65536, 128))
    assert result
    for layout in result:
        assert layout.npus == 1024
        assert layout.sp * layout.dp % layout.ep == 0
        assert GPT4.layers % layout.pp == 0
        assert 128 % (layout.dp * layout.micro) == 0


def test_the_best_is_the_best_of_all_that_fit_and_always_the_same():
    net, given = interconnect(), Assumptions()
    batch = batch_of(256, 32768)
    times = [
        iteration(LLAMA, net, place(layout, order), 32768, batch).seconds
        for layout in layouts(LLAMA, 256, 32768, batch)
        if memory_bytes(LLAMA, layout, 32768, batch) <= given.memory_gb * 1e9
        for order in ORDERS
    ]
    first, second = best(LLAMA, net, 256, 32768), best(LLAMA, interconnect(), 256, 32768)
    assert first.seconds == min(times)
    assert first.placement == second.placement
    assert first.memory_bytes <= given.memory_gb * 1e9


def test_parts_of_an_iteration_make_the_whole():
    result = best(GPT3, interconnect(), 1024, 8192)
    parts = result.arithmetic + result.exposed + result.idle + result.gradients
    assert result.seconds == pytest.approx(parts)


def test_what_does_not_fit_is_said():
    with pytest.raises(ModelError, match="MoE-10T with sequences of 8,192 tokens does not fit on 64 NPUs"):
        best(MODELS["moe-10t"], interconnect(), 64, 8192)


def test_overlap_and_wider_lanes_help():
    rates = [
        best(GPT3, interconnect(), 1024, 8192, Assumptions(chunks=chunks, lane_gbps=gbps)).rate
        for chunks, gbps in ((1, 50.0), (1, 100.0), (4, 100.0))
    ]
    assert all(less < more for less, more in pairwise(rates))


def test_linearity_of_nothing_more_is_one():
    assert linearity(LLAMA, 128, 1, interconnect()) == 1
    assert 0.95 < linearity(LLAMA, 128, 64, interconnect()) <= 1.01


@pytest.mark.long("dims1")
@pytest.mark.parametrize("dims", [(4,), (4, 4)])
def test_the_emulator_agrees(dims: tuple[int, ...]):
    first = CASES[0]
    cases = [
        first,
        *(Case(dims, kind, 1 << 18) for kind in ("allreduce", "all-gather", "all-to-all", "pairs")),
    ]
    for item in list(compare(cases))[1:]:
        assert abs(item.error_percent) < 5, item
