# SPDX-License-Identifier: Apache-2.0
"""Every kind of collective from a scenario's words to right data on the testbed, and what cannot be."""

from collections.abc import Callable
from pathlib import Path

import pytest

from controller.schemes.registry import routing_of
from emulation.traffic.collectives.registry import find, kinds
from harness.errors import ScenarioError
from harness.run.collectives.bounds import bound_ps
from harness.run.collectives.grids import grid_of
from harness.run.collectives.schedule import schedule_of
from harness.run.prepare import prepare
from harness.run.runner import observe
from harness.scenario.loader import load
from harness.scenario.schema import Collective
from topologies import full_mesh, ub_rack

Write = Callable[[str], Path]

HEAD = "name: small\ntopology: {name: full-mesh, dims: %s}\n"
MIXTURE = (
    "{kind: mixture, algorithm: %s, elements: 4800, rounds: 2, payload_bytes: 256, dtype: float32, parts: ["
    "{kind: allreduce, over: [0], share: 53}, {kind: all-gather, over: [1], share: 44}, "
    "{kind: all-to-all, share: 2}, {kind: p2p, over: [1], share: 0.2}, {kind: reduce, share: 1}, "
    "{kind: dispatch, share: 3, experts: 2, algorithm: direct}]}"
)


def runs(write: Write, dims: str, collective: str, routing: str = "{}") -> None:
    path = write(f"{HEAD % dims}collective: {collective}\nrouting: {routing}\n")
    (ready,) = prepare(*load(path))
    seen = observe(ready, 1)
    assert (seen.correct_nodes, seen.first_wrong) == (seen.nodes, "")
    assert seen.traffic.retransmitted == 0
    assert seen.completion_ps > ready.bound_ps > 0


@pytest.mark.long("all-path-dispatch-direct")
@pytest.mark.parametrize(
    ("kind", "algorithm"),
    [
        (kind.name, algorithm.name)
        for kind in kinds()
        for algorithm in kind.algorithms
        if kind.name != "mixture" and not algorithm.in_switches
    ],
)
@pytest.mark.parametrize("strategy", ["all-path", pytest.param("shortest", marks=pytest.mark.long)])
def test_every_kind_runs_and_is_right(write: Write, kind: str, algorithm: str, strategy: str):
    dims = "[8]" if algorithm.endswith("rings") else "[4, 4]"
    size = "elements: 4096, payload_bytes: 512, dtype: float32"
    runs(write, dims, f"{{kind: {kind}, algorithm: {algorithm}, {size}}}", f"{{strategy: {strategy}}}")


@pytest.mark.parametrize("algorithm", [algorithm.name for algorithm in find("mixture").algorithms])
def test_a_mixture_runs_and_is_right(write: Write, algorithm: str):
    runs(write, "[4, 4]", MIXTURE % algorithm)


@pytest.mark.parametrize(
    "more", ["shares: single-order", "unscattered_dims: 1", "shares: single-order, unscattered_dims: 2"]
)
def test_more_dimensions(write: Write, more: str):
    runs(write, "[2, 3, 2]", f"{{algorithm: dimension-wise, elements: 2048, payload_bytes: 512, {more}}}")


@pytest.mark.parametrize(
    ("dims", "collective", "expected"),
    [
        ("[4, 4]", "{kind: gossip}", ":3: collective.kind: 'gossip' is not known; known are all-gather,"),
        (
            "[4, 4]",
            "{kind: all-to-all, algorithm: ring}",
            "algorithm ring cannot carry out all-to-all; take partitions or",
        ),
        ("[4, 4]", "{root: 3}", ":3: collective: `root:` is for broadcast and reduce; leave it out"),
        ("[4, 4]", "{kind: mixture}", ":3: collective: the mixture has no parts"),
        ("[4, 4]", "{kind: mixture, parts: [{kind: p2p}]}", ":3: collective.parts[0].share is missing"),
        (
            "[4, 4]",
            "{kind: mixture, parts: [{kind: allreduce, algorithm: ring, share: 1}]}",
            "a mixture cannot use the algorithm ring; use dimension-wise or direct",
        ),
        (
            "[4, 4]",
            "{kind: all-to-all, elements: 100}",
            ":3: arrays of 100 elements have no equal blocks for 16",
        ),
        ("[4, 5]", "{algorithm: multi-ring}", ":3: a mesh of dimensions (4, 5) has no rings of idle links"),
        ("[4, 8]", "{algorithm: rings, rings: 3}", ":3: lines of 4 and 8 NPUs do not have 3 rings that"),
        (
            "[4]",
            "{algorithm: rings, rings: 3}",
            ":3: 4 NPUs do not have 3 rings that share no link; take up to 2",
        ),
        ("[4]", "{algorithm: bidirectional-dimension-order}", ":3: two halves need a mesh of two dimensions"),
        (
            "[4, 4]",
            "{kind: reduce, root: 16}",
            ":3: root 16 is not a rank of 16 NPUs; give a root from 0 to 15",
        ),
        ("[4, 4]", "{kind: dispatch, elements: 32, experts: 16}", ":3: 16 experts do not fit 16 ranks"),
        (
            "[4, 4]",
            "{algorithm: dimension-wise, unscattered_dims: 2}",
            ":3: a collective allreduce over 2 dimensions cannot",
        ),
        (
            "[4, 4]",
            "{kind: mixture, parts: [{kind: p2p, share: 1, over: [2]}]}",
            ":3: a mesh of 2 dimensions has no groups over dimensions (2,)",
        ),
        (
            "[4, 4]",
            "{kind: mixture, elements: 99, parts: [{kind: all-to-all, share: 1}, {kind: reduce, share: 99}]}",
            ":3: the part all-to-all has 0 elements and 16 NPUs",
        ),
    ],
)
def test_what_cannot_be_is_named_with_its_line(write: Write, dims: str, collective: str, expected: str):
    path = write(f"{HEAD % dims}collective: {collective}\n")
    with pytest.raises(ScenarioError) as caught:
        prepare(*load(path))
    assert expected in str(caught.value)


def test_the_default_algorithm_is_that_of_the_kind():
    assert Collective().algorithm == "bidirectional-dimension-order"
    assert {kind: Collective(kind=kind).algorithm for kind in ("all-to-all", "reduce", "p2p")} == {
        "all-to-all": "partitions",
        "reduce": "hierarchical",
        "p2p": "pipeline",
    }


def test_members_may_be_some_lines_of_a_fabric_and_nothing_less():
    rack = ub_rack()
    board = [f"npu{slot}" for slot in range(8)]
    assert grid_of(rack, board) == (8,)
    assert grid_of(rack, [f"npu{8 * row + column}" for row in (1, 3) for column in (0, 2, 5)]) == (3, 2)
    for wrong in (["npu0", "npu9"], ["npu1", "npu0"], ["npu0", "npu1", "npu8"]):
        with pytest.raises(ScenarioError, match="no full mesh"):
            grid_of(rack, wrong)
        assert schedule_of(rack, wrong, Collective(kind="allreduce", algorithm="direct")).ranks == len(wrong)
    with pytest.raises(ScenarioError, match="two or more"):
        schedule_of(rack, ["npu0"], Collective())


def test_bounds_are_those_of_the_ports_and_of_the_schedule_where_it_keeps_to_its_links():
    line = full_mesh((8,))
    names = [node.name for node in line.nodes]
    elements = 7 * 48 * 8

    def of(kind: str, algorithm: str, strategy: str) -> float:
        collective = Collective(kind=kind, algorithm=algorithm, elements=elements)  # type: ignore[arg-type]
        unit = 8 * collective.data_bytes / line.links[0].rate_bps * 10**12
        return bound_ps(line, names, collective, routing_of(line, strategy)) / unit

    assert of("allreduce", "direct", "all-path") == pytest.approx(1 / 4, rel=1e-4)
    assert of("allreduce", "rings", "shortest") == pytest.approx(1 / 4, rel=1e-4)
    assert of("allreduce", "bidirectional-rings", "shortest") == pytest.approx(7 / 24, rel=1e-4)
    assert of("allreduce", "ring", "shortest") == pytest.approx(7 / 4, rel=1e-4)
    assert of("allreduce", "ring", "all-path") == pytest.approx(1 / 4, rel=1e-4)
    assert of("all-gather", "direct", "shortest") == pytest.approx(1 / 8, rel=1e-4)
    assert of("all-to-all", "partitions", "shortest") == pytest.approx(1 / 8, rel=1e-4)
    assert of("broadcast", "hierarchical", "shortest") == pytest.approx(1, rel=1e-4)
    assert of("broadcast", "hierarchical", "all-path") == pytest.approx(1 / 7, rel=1e-4)
    assert of("p2p", "pipeline", "shortest") == pytest.approx(1, rel=1e-4)
