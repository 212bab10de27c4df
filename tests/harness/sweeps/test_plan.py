# SPDX-License-Identifier: Apache-2.0
"""Axes of a study become runs, each with a key that follows from everything its result depends on."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import ScenarioError
from harness.scenario.study import Study
from harness.sweeps import plan as planning
from harness.sweeps.plan import StudyPlan, plan_study

Write = Callable[[str], Path]
Railyard = Callable[..., tuple[int, str, str]]

TEXT = """\
name: small
topology: {name: full-mesh, dims: [2, 2]}
collective: {elements: 1024}
variants:
  - {name: healthy}
  - {name: cut, faults: [{at_us: 0.05, link: npu0-npu1}]}
  - {name: late, link: {detect_us: 50}}
assertions:
  - {metric: healthy.npus, equals: 4}
  - {metric: cut.npus, equals: {metric: healthy.npus}}
"""


def planned(write: Write, study: str, **options: object) -> StudyPlan:
    return plan_study(write(f"{TEXT}study: {study}\n"), **options)  # type: ignore[arg-type]


def test_a_grid_has_every_combination_variant_and_seed(write: Write):
    plan = planned(
        write, "{set: {collective.elements: [1024, 2048], topology.dims: [2x2, [2, 3]]}, seeds: '1..2,7'}"
    )
    assert len(plan.runs) == 4 * 3 * 3
    assert len({run.key for run in plan.runs}) == len(plan.runs)
    last = plan.runs[-1]
    assert last.scenario.topology.parameters["dims"] == (2, 3)
    assert (last.variant.collective.elements, last.variant.name, last.scenario.seed) == (2048, "late", 7)
    # Assertions about the variant alone are its own; those that compare variants belong to `run`.
    assert [len(run.scenario.assertions) for run in plan.runs[:9:3]] == [1, 0, 0]


def test_lists_pair_the_values_and_a_sample_draws_some(write: Write):
    axes = "{collective.elements: [1024, 2048, 4096], transport.window: [1, 2, 4]}"
    listed = planned(write, f"{{set: {axes}, combine: list}}", variants=("cut",))
    assert [tuple(run.point.values()) for run in listed.runs] == [(1024, 1), (2048, 2), (4096, 4)]
    drawn = planned(write, f"{{set: {axes}, sample: 4}}", variants=("cut",))
    assert len(drawn.runs) == 4
    assert [run.key for run in drawn.runs] == [
        run.key for run in planned(write, f"{{set: {axes}, sample: 4}}", variants=("cut",)).runs
    ]
    with pytest.raises(ScenarioError, match=r"there are 3 of collective.elements, 2 of transport.window"):
        planned(write, f"{{set: {axes.replace(', 4]', ']')}, combine: list}}")


def test_something_fails_in_turn_after_a_healthy_run(write: Write):
    plan = planned(write, "{fail_each: [link, 'pair:2']}")
    assert [run.case.name for run in plan.runs if run.case][:3] == ["", "npu0-npu1", "npu0-npu2"]
    assert [len(run.variant.faults) for run in plan.runs] == [0, 1, 1, 1, 1, 2, 2]
    assert {run.variant.name for run in plan.runs} == {"cut"}
    assert {fault.at_us for run in plan.runs for fault in run.variant.faults} == {0.05}


def test_random_faults_are_drawn_by_the_seed(write: Write):
    plan = planned(write, "{fail_each: 'random:2x20'}")
    drawn = [run.variant.faults for run in plan.runs]
    assert [len(faults) for faults in drawn] == [0] + [2] * 20
    assert len(set(drawn)) == 21
    events = [fault.event for faults in drawn for fault in faults]
    assert set(events) == {"down", "flap", "loss", "rate"}
    for first, second in drawn[1:]:
        assert first.link != second.link
        assert 0 < first.at_us <= second.at_us <= 0.05
    longer = planned(write, "{fail_each: 'random:2x30'}")
    assert [run.key for run in longer.runs[:21]] == [run.key for run in plan.runs]
    assert [run.key for run in planned(write, "{fail_each: 'random:2x20'}", seed=2).runs] != [
        run.key for run in plan.runs
    ]


def test_random_faults_until_a_given_time_need_no_fault_of_the_file(write: Write):
    plan = planned(write, "{fail_each: 'random:2x10@0.8'}")
    assert {run.variant.name for run in plan.runs} == {"healthy", "cut", "late"}
    late = {
        run.variant.name for run in plan.runs for fault in run.variant.faults if 0.05 < fault.at_us <= 0.8
    }
    assert late == {"healthy", "cut", "late"}
    assert max(fault.at_us for run in plan.runs for fault in run.variant.faults) <= 0.8
    with pytest.raises(ScenarioError, match=r"no variant with a fault is called 'healthy'.*--within US"):
        planned(write, "{fail_each: 'random:2x10'}", variants=("healthy",))


def test_a_campaign_ranks_the_worst_failures(railyard: Railyard, write: Write, tmp_path: Path):
    out = tmp_path / "campaign"
    code, printed, _ = railyard(
        "sweep", write(TEXT), "--fail-each", "random:2x6", "--jobs", "1", "--out", out
    )
    assert "the worst failures" in printed
    runs = json.loads((out / "sweep.json").read_text())["runs"]
    # On a mesh this small two faults may leave no path, and a silent link may be the only one.
    assert code == (not {run["status"] for run in runs} <= {"right", "over", "stopped"})
    slowest = max((run for run in runs if run["status"] == "right"), key=lambda run: run["completion_us"])
    page = (out / "report.html").read_text()
    ranking = page[page.index("Worst failures") :]
    failing = [run for run in runs if run["cut"]]
    at = {
        status: [ranking.index(run["cut"]) for run in failing if run["status"] == status]
        for status in ("wrong", "stopped", "right")
    }
    assert [*at["wrong"], *at["stopped"]] == sorted([*at["wrong"], *at["stopped"]])
    assert ranking.index(slowest["cut"]) == min(at["right"]) > max([*at["wrong"], *at["stopped"], 0])
    # The faults of a row are those of a scenario.
    faults = ", ".join(slowest["cut"].split(" and "))
    again = TEXT.replace("[{at_us: 0.05, link: npu0-npu1}]", f"[{faults}]")
    assert railyard("run", write(again), "--variant", "cut", "--quiet", "--out", tmp_path / "again")[0] == 0
    result = json.loads((tmp_path / "again" / "result.json").read_text())
    assert result["metrics"]["cut.completion_us"] == slowest["completion_us"]


def test_a_campaign_ends_with_its_time_and_goes_on(railyard: Railyard, write: Write, tmp_path: Path):
    counts = []
    for _ in range(2):
        railyard(
            *(
                "sweep",
                write(TEXT),
                "--faults",
                "1",
                "--budget",
                "2s",
                "--jobs",
                "1",
                "--out",
                tmp_path / "out",
            )
        )
        counts.append(len([*(tmp_path / "out" / "runs").glob("*.json")]))
    assert 0 <= counts[0] <= counts[1] < 2001


def test_keys_follow_what_a_result_depends_on_and_no_more(write: Write, monkeypatch: pytest.MonkeyPatch):
    few = planned(write, "{set: {link.detect_us: [1, 2]}, seeds: 1..2}", variants=("cut",))
    more = planned(write, "{set: {link.detect_us: [1, 2, 3]}, seeds: 1..4}", variants=("cut",))
    assert {run.key for run in few.runs} < {run.key for run in more.runs}
    assert few.base == more.base
    monkeypatch.setattr(planning, "program_digest", lambda: "another version")
    other = planned(write, "{set: {link.detect_us: [1, 2]}, seeds: 1..2}", variants=("cut",))
    assert {run.key for run in few.runs}.isdisjoint(run.key for run in other.runs)
    assert few.base != other.base


@pytest.mark.parametrize(
    ("study", "told"),
    [
        ("{set: {link.detect_us: [1, -1]}}", r"scenario.yaml:7: variant 'late' has its own link.detect_us"),
        (
            "{set: {collective.elements: [1024, -4]}}",
            r"scenario.yaml:11: study: .* = -4: .*elements: -4 must be at least",
        ),
        ("{set: {link.detct_us: [1]}}", r"unknown key 'detct_us'.*did you mean 'detect_us'"),
        ("{set: {variants.gone.link: [1]}}", r"names the element 'gone' of a list"),
        ("{set: {seed.x: [1]}, seeds: 1}", r"unknown key 'seed'|leads into|is not a whole number"),
        ("{fail_each: switch}", r"has no switch that could fail"),
        ("{fail_each: rail}", r"fail_each"),
        ("{sets: {}}", r"unknown key 'sets' in study; did you mean 'set'"),
        ("{}", r"nothing to vary; give --set KEY=A,B"),
    ],
)
def test_mistakes_are_named_before_anything_runs(write: Write, study: str, told: str):
    with pytest.raises(ScenarioError, match=told):
        planned(write, study)


def test_options_win_over_the_file(write: Write):
    path = write(f"{TEXT}study: {{set: {{transport.window: [1, 2]}}, seeds: 1..9}}\n")
    plan = plan_study(path, Study(set={"transport.window": (8,)}, seeds=(3,)), ("cut",))
    assert [(run.point, run.scenario.seed) for run in plan.runs] == [({"transport.window": 8}, 3)]


@pytest.mark.parametrize(
    ("option", "told"),
    [
        (("--seeds", "one"), "--seeds"),
        (("--set", "link.detect_us"), "link.detect_us=1,10"),
        (("--set", "a=[1"), "has no list of values"),
        (("--fail-each", "rail"), "random:3x100 or random:3x100@50"),
        (("--budget", "ten"), "cannot be read; write a time like"),
        (("--shard", "3/2"), "write it like 2/8"),
    ],
)
def test_an_option_that_is_none_is_named(
    railyard: Railyard, write: Write, option: tuple[str, str], told: str
):
    code, _, err = railyard("sweep", write(TEXT), *option)
    assert code == 2
    assert told in " ".join(err.split())
