# SPDX-License-Identifier: Apache-2.0
"""Experiment plans of uet-htsim: what they become and what is refused."""

from pathlib import Path
from typing import Any

import pytest

from controller import make_plan
from harness.errors import FormatError
from harness.formats.detection import format_of
from harness.formats.htsim_plan import read_plan

MATRIX = "Nodes 16\nConnections 2\n0->15 id 1 start 0 size 200000\n1->0 id 2 start 0 size 100000\n"
PLAN = """two.cm
!Experiment Two flows
!Binary ./htsim_uec
!Param -sender_cc_only
!Param -end 900
!tailFCT 60
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    (tmp_path / "two.cm").write_text(MATRIX)
    path = tmp_path / "plan.txt"
    path.write_text(PLAN)
    return path


def settings_of(plan: Path, *options: str, text: str = PLAN) -> dict[str, Any]:
    plan.write_text(text + "".join(f"!Param {option}\n" for option in options))
    return dict(read_plan(plan)[0].settings)


def test_it_is_known_by_its_first_experiment(plan: Path, tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("two.cm\nno plan\n")
    assert format_of(plan) == "htsim-plan"
    assert format_of(other) is None


def test_an_experiment_has_the_defaults_of_the_program(plan: Path) -> None:
    (imported,) = read_plan(plan)
    assert imported.name == "01-Two flows"
    assert imported.fabric is not None
    assert sum(node.name.startswith("core") for node in imported.fabric.nodes) == 4
    assert [(a["metric"], a["max"]) for a in imported.assertions] == [("run.completion_us", 60)]
    settings = imported.settings
    assert settings["routing"]["strategy"] == "mixed"
    assert {node.program for node in imported.fabric.switches} == {"rail_switch"}, "which choose by hash"
    # Twelve links of 1 µs and six packets of 4,214 bytes at 100 Gbit/s: 14.02 µs, 175,285 bytes, 43 packets.
    congestion = settings["transport"]["congestion"]
    assert congestion["algorithm"] == "nscc"
    assert congestion["base_rtt_us"] == pytest.approx(12 + 6 * 4214 * 8e-5)
    assert settings["link"]["queues"]["data"] == {"bytes": 43 * 4150, "trim": True}
    assert settings["link"]["ecn"] == {"first_frames": 9, "last_frames": 35}
    assert settings["transport"]["ack_every"] == 4


@pytest.mark.parametrize(
    ("option", "keys", "value"),
    [
        ("-q 20", ("link", "queues", "data", "bytes"), 20 * 4150),
        ("-disable_trim", ("link", "queues", "data", "trim"), False),
        ("-ecn 5 30", ("link", "ecn"), {"first_frames": 5, "last_frames": 30}),
        ("-load_balancing_algo reps", ("routing", "strategy"), "reps"),
        ("-paths 1", ("transport", "connections"), {"paths": "random", "count": 1}),
        ("-cwnd 7", ("transport", "congestion", "params"), {"start_frames": 7}),
        ("-target_q_delay 6", ("transport", "congestion", "params"), {"target_us": 6}),
        ("-sender_cc_algo constant", ("transport", "congestion", "algorithm"), "fixed"),
        ("-linkspeed 400000", ("transport", "congestion", "rate_gbps"), 400),
        ("-mtu 1500", ("collective", "payload_bytes"), 1436),
        ("-sack_threshold 4000", ("transport", "ack_every"), 1),
    ],
)
def test_an_option_becomes_a_key(plan: Path, option: str, keys: tuple[str, ...], value: object) -> None:
    without: Any = settings_of(plan)
    set_by_option: Any = settings_of(plan, option)
    for key in keys:
        set_by_option, without = set_by_option[key], without.get(key)
    assert set_by_option == value != without


@pytest.mark.parametrize(
    ("options", "algorithm"),
    [
        ("-sender_cc", "nscc"),
        ("-receiver_cc_only", "rccc"),
        ("-receiver_cc", "rccc"),
        ("-sender_cc\n!Param -receiver_cc", "nscc+rccc"),
    ],
)
def test_options_choose_the_congestion_controls(plan: Path, options: str, algorithm: str) -> None:
    plan.write_text(PLAN.replace("-sender_cc_only", options))
    (imported,) = read_plan(plan)
    assert imported.settings["transport"]["congestion"]["algorithm"] == algorithm


def test_a_single_path_of_a_pair_is_chosen_by_hash(plan: Path) -> None:
    settings = settings_of(plan, "-paths 1")
    assert settings["routing"] == {"strategy": "hashed", "peers": "job"}


def test_parallel_links_are_searched_as_a_graph(plan: Path) -> None:
    tier = "Downlink_speed_Gbps 100\nDownlink_Latency_ns 10\n"
    (plan.parent / "two.topo").write_text(
        f"Nodes 16\nTiers 2\nPodsize 16\nTier 0\n{tier}Radix_Down 4\nRadix_Up 4\n"
        f"Tier 1\n{tier}Radix_Down 8\nBundle 2\n"
    )
    plan.write_text(PLAN + "!Param -topo two.topo\n")
    (imported,) = read_plan(plan)
    assert imported.fabric is not None
    assert imported.fabric.graph_routed
    assert any("16 source routes" in note for note in imported.notes)


def test_two_hosts_have_a_tree_of_pods_with_one_host(plan: Path) -> None:
    (plan.parent / "two.cm").write_text("Nodes 2\nConnections 1\n0->1 id 1 start 0 size 20000\n")
    (imported,) = read_plan(plan)
    assert imported.fabric is not None
    planned = make_plan(imported.fabric, strategy="mixed", peers=[("npu0", "npu1")])
    assert set(planned.routes["npu0", "npu1"]) == {("npu0", "tor0", "agg0", "core0", "agg1", "tor1", "npu1")}


def test_failed_links_lead_from_cores_and_keep_a_quarter_of_rate_queues_and_marks(plan: Path) -> None:
    plan.write_text(PLAN + "!Param -failed 2\n")
    (imported,) = read_plan(plan)
    assert [(fault["direction"], fault["percent"]) for fault in imported.faults] == [
        ("core0->agg0", 25),
        ("core2->agg0", 25),
    ]
    assert imported.fabric is not None
    wires = {frozenset((link.a.node, link.b.node)) for link in imported.fabric.links}
    for fault in imported.faults:
        assert frozenset(fault["direction"].split("->")) in wires
    link = imported.settings["link"]
    assert list(link["ports"]) == ["core0->agg0", "core2->agg0"]
    port = link["ports"]["core0->agg0"]
    for name, queue in link["queues"].items():
        assert port["queues"][name] == {**queue, "bytes": round(queue["bytes"] / 4)}
    assert port["ecn"]["last_frames"] == round(link["ecn"]["last_frames"] / 4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("!Experiment early\n", "above the first matrix"),
        (PLAN + "!Param -receiver_cc\n", "-sender_cc_only beside -receiver_cc is not supported"),
        (
            PLAN.replace("-sender_cc_only", "-sender_cc_algo constant") + "!Param -receiver_cc\n",
            "-sender_cc_algo constant beside -receiver_cc is not supported",
        ),
        (PLAN + "!Param -q\n", "option -q takes 1 values, got 0"),
        (PLAN + "!Param -q many\n", "plan.txt:7: "),
        (PLAN + "!Colour red\n", "is no line of a plan"),
        (PLAN.replace("./htsim_uec", "./htsim_roce"), "binary './htsim_roce' is not supported"),
        (PLAN.replace("!Param -sender_cc_only\n", ""), "the experiment chooses no congestion control"),
        (PLAN + "!Param -load_balancing_algo ecmp\n", "-load_balancing_algo ecmp is not supported"),
        (PLAN + "!Param -failed 5\n", "-failed 5 is not supported with 4 core switches"),
        (PLAN.replace("two.cm", "none.cm"), "none.cm"),
    ],
)
def test_a_wrong_line_is_named_with_its_place(plan: Path, text: str, message: str) -> None:
    plan.write_text(text)
    with pytest.raises(FormatError, match=message):
        read_plan(plan)


def test_hosts_without_a_fat_tree_are_refused(plan: Path) -> None:
    (plan.parent / "two.cm").write_text(MATRIX.replace("16", "18"))
    with pytest.raises(FormatError, match="no fat tree has 18 hosts"):
        read_plan(plan)
