# SPDX-License-Identifier: Apache-2.0
"""Whole runs on rail-only fabrics in which links, switches, GPUs and domains fail, in virtual time."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.report.document import to_json
from harness.report.results import conclude
from harness.run.observation.values import Observation
from harness.run.prepare import prepare
from harness.run.runner import observe, run
from harness.scenario.loader import load
from harness.scenario.study import Study
from harness.sweeps.conduct import results_of
from harness.sweeps.plan import plan_study
from harness.sweeps.table import passed, record_of

Write = Callable[[str], Path]
Railyard = Callable[..., tuple[int, str, str]]

HEAD = """\
name: small
topology: {{name: rail-only, domains: {domains}, hb_size: {hb_size}{topology}}}
collective: {{kind: allreduce, algorithm: direct, elements: 8192, payload_bytes: 1024}}
routing: {{peers: {peers}, strategy: {strategy}}}
link: {{detect_us: 0.5}}
control: {{processing_us: 0.5, migrate_us: 2{control}}}
transport: {{window: 32, initial_rto_us: 20, min_rto_us: 20}}
"""
OPTICAL = ", optical: true, reconfiguration_us: 20"
FULL = ", spares: 1, spare_domains: 1, spare_rails: 1" + OPTICAL
RAIL0 = ("gpu0", "gpu4", "gpu8", "gpu12")


def scenario(
    faults: str = "",
    topology: str = "",
    *,
    domains: int = 4,
    hb_size: int = 4,
    peers: str = "job",
    strategy: str = "all-path",
    control: str = "",
) -> str:
    head = HEAD.format(
        domains=domains, hb_size=hb_size, topology=topology, peers=peers, strategy=strategy, control=control
    )
    return head + f"faults: [{faults}]\n"


@pytest.fixture
def seen(write: Write) -> Callable[..., Observation]:
    def look(*given: str, **options: object) -> Observation:
        (ready,) = prepare(*load(write(scenario(*given, **options))))  # type: ignore[arg-type]
        return observe(ready, 1)

    return look


Seen = Callable[..., Observation]


def right(result: Observation, *, took: Sequence[tuple[str, str]]) -> None:
    """All data are, and nothing else has taken over, each after the last."""
    assert (result.correct_nodes, result.first_wrong) == (result.nodes, "")
    assert [(takeover.npu, takeover.spare) for takeover in result.takeovers] == list(took)
    assert result.cut_off == ""


@pytest.mark.long("mesh-job")
@pytest.mark.parametrize(("inside", "peers"), [("mesh", "job"), ("switch", "all")])
def test_an_idle_gpu_takes_address_and_rail(seen: Seen, inside: str, peers: str) -> None:
    topology = f", inside: {inside}, spares: 1{OPTICAL}"
    result = seen("{at_us: 1, gpu: gpu5}", topology, peers=peers)
    right(result, took=[("gpu5", "spare1")])
    assert result.checksum == seen("", topology, peers=peers).checksum
    (item,) = result.takeovers
    # Detection, processing, migration; mirrors; detection of light, and processing.
    assert (item.detected_ps, item.at_ps) == (1_500_000, 4_000_000 + 20_000_000 + 1_000_000)
    assert (item.circuits, item.along, item.without) == (1, (), ())
    # It sends and receives by the rail of the other, and that one no more.
    assert min(result.link_bytes["ocs1:4-6"]) > 0
    assert f"{item}".startswith(
        "gpu5 was found to be gone at 1.5 us; spare1 had its place at 25 us, 1 circuit"
    )


@pytest.mark.long
def test_with_one_path_a_pair(seen: Seen) -> None:
    right(seen("{at_us: 1, gpu: gpu5}", FULL, strategy="shortest"), took=[("gpu5", "spare1")])


@pytest.mark.long("link: ocs1:1-6")
@pytest.mark.parametrize("target", ["link: ocs1:1-6", 'port: "gpu5:5"'])
def test_a_nic_that_is_cut_costs_its_gpu(seen: Seen, target: str) -> None:
    result = seen(f"{{at_us: 1, {target}}}", FULL)
    right(result, took=[("gpu5", "spare1")])
    (item,) = result.takeovers
    assert item.without == ("gpu5",)
    assert "gpu5 was found to be cut off at 1.5 us; spare1 had its place" in f"{item}"


def test_a_dead_port_of_a_rail_is_tried_with_an_idle_gpu_and_then_left(seen: Seen) -> None:
    result = seen('{at_us: 1, port: "rail1:2"}', FULL)
    right(result, took=[("gpu5", "spare1"), ("rail1", "sparerail0")])
    assert result.takeovers[1].without == ("spare1",)


@pytest.mark.long("mesh")
@pytest.mark.parametrize("inside", ["mesh", "switch"])
def test_a_spare_switch_takes_over_the_rail_of_all_domains(seen: Seen, inside: str) -> None:
    topology = f", inside: {inside}, spare_rails: 1{OPTICAL}"
    result = seen("{at_us: 1, switch: rail0}", topology)
    right(result, took=[("rail0", "sparerail0")])
    assert result.checksum == seen("", topology).checksum
    (item,) = result.takeovers
    assert item.without == RAIL0
    assert item.circuits == 4
    assert "rail0 was found to have lost gpu0, gpu4, gpu8, gpu12 at 1.5 us; sparerail0 had" in f"{item}"
    for domain in range(4):
        assert min(result.link_bytes[f"ocs{domain}:0-8"]) > 0
    assert result.transit_frames == 0


@pytest.mark.long("mesh-, spare_domains: 1")
@pytest.mark.parametrize(
    ("inside", "topology"),
    [("mesh", ", spare_domains: 1"), ("switch", ", spare_domains: 1, spares: 1" + OPTICAL)],
)
def test_a_domain_that_is_lost_moves_as_a_whole(seen: Seen, inside: str, topology: str) -> None:
    result = seen("{at_us: 1, domain: 1}", f", inside: {inside}{topology}")
    right(result, took=[("gpu4", "gpu16")])
    (item,) = result.takeovers
    assert item.along == (("gpu5", "gpu17"), ("gpu6", "gpu18"), ("gpu7", "gpu19"))
    assert item.at_ps == 4_000_000
    assert item.circuits == 0


def test_without_an_idle_gpu_the_whole_domain_moves(seen: Seen) -> None:
    result = seen("{at_us: 1, gpu: gpu5}", ", spare_domains: 1")
    right(result, took=[("gpu5", "gpu17")])
    assert result.takeovers[0].spares == ("gpu17", "gpu16", "gpu18", "gpu19")


def test_a_switch_inside_of_a_domain_takes_the_domain_with_it(seen: Seen) -> None:
    result = seen("{at_us: 1, switch: hbs1}", f", inside: switch{FULL}")
    right(result, took=[("gpu4", "gpu16")])
    assert result.takeovers[0].without == ("gpu4", "gpu5", "gpu6", "gpu7")


@pytest.mark.long("the spare while turned", "rail and domain", "two of a domain", "its rail", "two")
@pytest.mark.parametrize(
    ("faults", "took"),
    [
        ("{at_us: 1, gpu: gpu5}, {at_us: 1, gpu: gpu10}", [("gpu5", "spare1"), ("gpu10", "spare2")]),
        ("{at_us: 1, gpu: gpu5}, {at_us: 1, gpu: gpu6}", [("gpu5", "spare1"), ("gpu6", "gpu18")]),
        ("{at_us: 1, gpu: gpu5}, {at_us: 15, gpu: spare1}", [("gpu5", "spare1"), ("gpu5", "gpu17")]),
        ("{at_us: 1, gpu: gpu5}, {at_us: 15, switch: rail1}", [("gpu5", "spare1"), ("rail1", "sparerail0")]),
        ("{at_us: 1, domain: 1}, {at_us: 1, switch: rail3}", [("rail3", "sparerail0"), ("gpu4", "gpu16")]),
        ("{at_us: 1, domain: 1}, {at_us: 5, gpu: gpu17}", [("gpu4", "gpu16"), ("gpu5", "spare4")]),
        ("{at_us: 0.5, gpu: spare1}, {at_us: 1, gpu: gpu5}", [("gpu5", "gpu17")]),
    ],
    ids=[
        "two",
        "two of a domain",
        "the spare while turned",
        "its rail",
        "rail and domain",
        "moved",
        "no idle",
    ],
)
def test_one_after_another(seen: Seen, faults: str, took: list[tuple[str, str]]) -> None:
    right(seen(faults, FULL), took=took)


@pytest.mark.long("gpu: gpu5")
@pytest.mark.parametrize("target", ["gpu: gpu5", "switch: rail0"])
def test_what_is_back_in_time_keeps_its_place_and_what_comes_later_stays_out(seen: Seen, target: str) -> None:
    fault = f"{{at_us: 1, {target}}}"
    right(seen(f"{fault}, {{at_us: 2, {target}, event: up}}", FULL), took=[])
    result = seen(f"{fault}, {{at_us: 15, {target}, event: up}}", FULL)
    assert len(result.takeovers) == 1
    right(result, took=[("gpu5", "spare1") if "gpu" in target else ("rail0", "sparerail0")])


@pytest.mark.parametrize("reconfiguration_us", ["0", "0.1"])
def test_mirrors_that_turn_faster_than_ports_are_looked_at(seen: Seen, reconfiguration_us: str) -> None:
    topology = f", spares: 1, optical: true, reconfiguration_us: {reconfiguration_us}"
    result = seen("{at_us: 1, gpu: gpu5}", topology)
    right(result, took=[("gpu5", "spare1")])
    assert result.takeovers[0].at_ps == 5_000_000 + round(float(reconfiguration_us) * 10**6)


@pytest.mark.long
def test_hellos_find_a_gpu_and_a_switch_that_hang_with_their_links_up(seen: Seen) -> None:
    hangs = "{{at_us: 1, {}, event: loss, percent: 100}}"
    options = {"domains": 2, "control": ", hello_us: 1"}
    right(seen(hangs.format("gpu: gpu5"), FULL, **options), took=[("gpu5", "spare1")])
    right(seen(hangs.format("switch: rail0"), FULL, **options), took=[("rail0", "sparerail0")])


@pytest.mark.long("two domains", "two rails")
@pytest.mark.parametrize(
    ("faults", "topology", "words"),
    [
        (
            "{at_us: 1, gpu: gpu5}",
            ", spares: 1",
            "gpu5 is cut off at 4 us: no link is left, and no optical switch could lead spare1 from rail4",
        ),
        (
            "{at_us: 1, gpu: gpu5}",
            OPTICAL + ", spare_rails: 1",
            "no link is left, and its domain has no idle GPU and there is no idle domain",
        ),
        (
            "{at_us: 1, switch: rail0}",
            ", spares: 1, spare_domains: 1" + OPTICAL,
            "gpu0, gpu4, gpu8, gpu12 are cut off at 4 us: no link to the network between domains is left",
        ),
        (
            "{at_us: 1, switch: rail0}, {at_us: 1, switch: rail1}",
            ", spare_rails: 1" + OPTICAL,
            "gpu1, gpu5, gpu9, gpu13 are cut off at 25 us",
        ),
        (
            "{at_us: 1, switch: hbs1}",
            ", inside: switch, spares: 1" + OPTICAL,
            "gpu4, gpu5, gpu6, gpu7 are cut",
        ),
        ("{at_us: 1, domain: 1}, {at_us: 6, domain: 2}", ", spare_domains: 1", "domain 4 is used already"),
    ],
    ids=[
        "no optical switch",
        "no idle GPU",
        "no spare rail",
        "two rails",
        "a domain's switch",
        "two domains",
    ],
)
def test_what_nothing_heals_stops_the_run_with_the_reason(
    seen: Seen, faults: str, topology: str, words: str
) -> None:
    result = seen(faults, topology)
    assert result.correct_nodes < result.nodes
    assert words in result.cut_off
    assert result.cut_off in result.first_wrong


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("switch: rail0", "gpu0, gpu4, gpu8, gpu12 have lost the network between domains"),
        ("link: gpu5-rail1", "gpu5 has lost the network between domains; no route joins gpu4 to gpu1,"),
        ("gpu: gpu5", "gpu5 is cut off; no route joins gpu4 to gpu1,"),
        ("domain: 1", "gpu4, gpu5, gpu6, gpu7 are cut off"),
    ],
)
def test_without_spares_the_lost_are_named_when_senders_give_up(seen: Seen, fault: str, words: str) -> None:
    result = seen(f"{{at_us: 1, {fault}}}")
    assert result.correct_nodes < result.nodes
    assert result.cut_off.startswith(words)
    assert result.takeovers == ()


def result_of(path: Path) -> dict[str, Any]:
    loaded = load(path)
    result = conclude(loaded[0], 1, "embedded", run(prepare(*loaded), 1).runs)
    return json.loads(to_json(result))


def test_the_file_says_who_moved_and_who_had_lost_the_network(write: Write) -> None:
    document = result_of(write(scenario("{at_us: 1, switch: rail0}", FULL, domains=2)))
    assert document["passed"]
    assert document["metrics"]["run.takeovers"] == 1
    assert document["metrics"]["run.takeover_us"] == 24
    (item,) = document["takeovers"]["run"]
    assert (item["npu"], item["spare"], item["circuits"]) == ("rail0", "sparerail0", 3)
    assert item["without"] == ["gpu0", "gpu4"]
    assert "along" not in item
    document = result_of(write(scenario("{at_us: 1, domain: 1}", FULL, domains=2)))
    assert document["metrics"]["run.takeovers"] == 4
    assert document["takeovers"]["run"][0]["along"] == [
        ["gpu5", "gpu9"],
        ["gpu6", "gpu10"],
        ["gpu7", "gpu11"],
    ]


@pytest.mark.long
def test_the_screen_and_the_report_say_it_too(railyard: Railyard, write: Write, tmp_path: Path) -> None:
    path = write(scenario("{at_us: 1, switch: rail0}", FULL, domains=2))
    code, out, err = railyard("run", path, "--out", tmp_path / "out")
    assert code == 0, out + err
    said = "rail0 was found to have lost gpu0, gpu4 at 1.5 us; sparerail0 had its place at 25 us"
    assert said in " ".join(out.split())
    assert said in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (scenario("{at_us: 1, domain: 9}", FULL), "no domain 9; its domains are 0 to 4"),
        (scenario("{at_us: 1, gpu: rail0}", FULL), "rail0 is no NPU but rail; write `switch: rail0`"),
        (scenario("{at_us: 1, gpu: gpu99}", FULL), "no node named 'gpu99'"),
        (scenario("", ", spare_rails: 1"), "spare_rails is 1, but no optical switch leads to spare rails"),
        (scenario("", ", optical: 1"), "optical is 1; give true or false"),
    ],
)
def test_what_cannot_be_is_refused_with_its_line(
    railyard: Railyard, write: Write, text: str, message: str
) -> None:
    code, _, err = railyard("check", write(text))
    assert code == 2
    assert message in " ".join(err.split())


def test_a_fabric_with_optical_switches_is_shown(railyard: Railyard, tmp_path: Path) -> None:
    given = ("--param", "optical=true", "--param", "spares=1", "--param", "spare_rails=1")
    code, out, err = railyard("show", "rail-only", *given, "--svg", tmp_path / "rails.svg")
    assert code == 0, err
    assert "4 spare" in " ".join(out.split())
    assert "<svg" in (tmp_path / "rails.svg").read_text()
    code, _, err = railyard("show", "rail-only", "--param", "optical=yes")
    assert code == 2
    assert "'optical=yes' cannot be read; write it like" in " ".join(err.split())


def test_a_fabric_without_domains_has_none_to_fail(railyard: Railyard, write: Write) -> None:
    text = scenario("{at_us: 1, domain: 0}").replace(
        "{name: rail-only, domains: 4, hb_size: 4}", "{name: full-mesh, dims: [2, 2]}"
    )
    code, _, err = railyard("check", write(text))
    assert code == 2
    assert "no domain 0; it has no domains; take another target" in " ".join(err.split())


@pytest.mark.long
def test_every_switch_in_turn(write: Write) -> None:
    """As the experiment with every GPU and every switch, on a fabric of two domains."""
    topology = ", inside: switch" + FULL
    path = write(scenario("{at_us: 0.5, gpu: gpu1}", topology, domains=2, hb_size=2))
    results = results_of(plan_study(path, Study(fail_each=("switch",))), 1)
    records = [record for record in map(record_of, results) if record["failed"]]
    assert [record["trouble"] for record in records] == [""] * 6
    # Of domains, the last of which is idle; of rails; the spare one.
    assert [record["spare"] for record in records] == ["gpu4", "gpu4", "", "sparerail0", "sparerail0", ""]
    assert passed(results)


SPINES = ", radix: 4, uplinks: 2, spines: 2"


@pytest.mark.parametrize("strategy", ["hashed", "all-path"])
def test_leaves_send_nothing_to_a_spine_that_has_lost_the_leaf_of_the_destination(
    seen: Seen, strategy: str
) -> None:
    result = seen(
        "{at_us: 1, link: rail1l0-rail1s0, event: down}", SPINES, domains=8, hb_size=2, strategy=strategy
    )
    assert not result.first_wrong
    assert result.correct_nodes == result.nodes == 16
