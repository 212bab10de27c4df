# SPDX-License-Identifier: Apache-2.0
"""Medians, intervals and differences of runs, against values known otherwise."""

import numpy as np
import pytest

from harness.sweeps.page import distributions, study_html
from harness.sweeps.statistics import SHOWN, differences, grouped, seeds_alike, shown_metrics, spread_of
from harness.sweeps.table import Record


def records() -> list[Record]:
    """Runs of two variants at two detection times under five seeds; `slow` is 3 us slower, run by run."""
    fixed = {"cut": "", "failed": 0, "status": "right", "trouble": "", "spare": "", "cut_off": ""}
    fixed |= dict.fromkeys(SHOWN, 2)
    return [
        {
            **fixed,
            "run": f"{variant}{detect}{seed}",
            "variant": variant,
            "link.detect_us": detect,
            "seed": seed,
            "completion_us": 10.0 * detect + seed**2 + (3.0 if variant == "slow" else 0.0),
        }
        for detect in (1, 10)
        for variant in ("fast", "slow")
        for seed in range(1, 6)
    ]


def test_the_interval_of_a_median_covers_it_and_narrows_with_more_values():
    generator = np.random.default_rng(7)
    few, many = generator.normal(100, 10, 20), generator.normal(100, 10, 2000)
    spread = spread_of(list(few))
    assert spread.low <= spread.median <= spread.high
    assert min(few) == spread.minimum <= spread.median <= spread.maximum == max(few)
    assert spread.median == np.median(few)
    wide = spread_of(list(many))
    assert wide.high - wide.low < (spread.high - spread.low) / 3
    # The 6th and the 15th of 20 values bound the median with 96 %, whatever the distribution.
    ordered = sorted(few)
    assert ordered[4] <= spread.low <= ordered[6]
    assert ordered[13] <= spread.high <= ordered[15]
    assert spread_of(list(few)) == spread


def test_equal_values_and_a_single_value_have_an_interval_without_width():
    for values in ([4.0], [4.0, 4.0, 4.0]):
        spread = spread_of(values)
        assert (spread.median, spread.low, spread.high) == (4.0, 4.0, 4.0)


def test_groups_differ_in_seeds_alone():
    groups = grouped(records(), ["link.detect_us"])
    assert [(group.variant, group.point["link.detect_us"], group.total) for group in groups] == [
        ("fast", 1, 5),
        ("slow", 1, 5),
        ("fast", 10, 5),
        ("slow", 10, 5),
    ]
    spread = groups[0].spread("completion_us")
    assert spread is not None
    assert (spread.count, spread.median) == (5, 19.0)


def test_paired_differences_leave_out_what_differs_between_pairs():
    (difference,) = differences(records(), ["link.detect_us"], ["completion_us"])
    assert (difference.base, difference.label, difference.spread.count) == ("fast", "slow", 10)
    assert (difference.spread.median, difference.spread.low, difference.spread.high) == (3.0, 3.0, 3.0)
    wrong = [{**record, "status": "wrong"} if record["seed"] == 1 else record for record in records()]
    (difference,) = differences(wrong, ["link.detect_us"], ["completion_us"])
    assert difference.spread.count == 8
    alone = [record for record in records() if record["variant"] == "fast"]
    assert differences(alone, ["link.detect_us"], ["completion_us"]) == []
    words = [{**record, "routing.strategy": record["variant"], "variant": "run"} for record in records()]
    (difference,) = differences(words, ["routing.strategy", "link.detect_us"], ["completion_us"])
    assert (difference.label, difference.spread.median) == ("slow", 3.0)


@pytest.mark.parametrize("axes", [["link.detect_us"], ["link.detect_us", "seed"], []])
def test_the_page_of_a_study_is_whole_and_the_same_twice(axes: list[str]):
    changed = [{**record, "completion_us": record["completion_us"] + record["seed"]} for record in records()]
    changed[0] = {**changed[0], "status": "wrong", "trouble": "npu0 <has> 1 wrong element"}
    page = study_html("A study", "5 seeds", changed, axes, "railyard sweep x.yaml")
    assert page == study_html("A study", "5 seeds", changed, axes, "railyard sweep x.yaml")
    assert "20 runs: 19 right, 1 wrong" in page
    assert "npu0 &lt;has&gt; 1 wrong element" in page
    assert ("bands: 95 %" in page) == bool(axes)
    assert ("Over link.detect_us and seed" in page) == (len(axes) == 2)
    assert "slow - fast" in page
    assert "http" not in page.replace("http://www.w3.org", "")


def test_strategies_have_curves_and_intervals_of_their_own() -> None:
    records = [
        {
            "variant": "cut",
            "routing.strategy": strategy,
            "seed": seed,
            "cut": "",
            "failed": 0,
            "status": "right",
            "trouble": "",
            **dict.fromkeys(SHOWN, 1.0),
            "completion_us": base + seed / 10,
        }
        for strategy, base in (("shortest", 3.0), ("all-path", 2.0), ("adaptive", 1.0))
        for seed in range(20)
    ]
    page = study_html("A study", "", records, ["routing.strategy"], "")
    assert "By routing.strategy" in page
    for strategy in ("shortest", "all-path", "adaptive"):
        assert f"cut, strategy {strategy}" in page
        assert f"cut, {strategy}" in distributions(records, ["routing.strategy"])
    many = [{**record, "routing.strategy": f"s{number}"} for number, record in enumerate(records)]
    assert "s59" not in distributions(many, ["routing.strategy"])


def test_a_study_whose_seeds_change_the_data_alone_says_so():
    changing = records()
    alike = [{**record, "completion_us": 4.0, "result_crc32": record["seed"]} for record in changing]
    assert seeds_alike(alike, ["link.detect_us"])
    assert not seeds_alike(changing, ["link.detect_us"])
    assert not seeds_alike(alike[:1], ["link.detect_us"])  # a single seed
    assert not seeds_alike([*alike, {**alike[-1], "seed": 6, "lost_frames": 3}], ["link.detect_us"])
    assert "all seeds give the same metrics" in study_html("", "", alike, ["link.detect_us"], "")
    assert "all seeds give the same metrics" not in study_html("", "", changing, ["link.detect_us"], "")


def test_metrics_that_no_run_has_are_left_out():
    calm = [
        {**record, **dict.fromkeys(SHOWN, 0), "completion_us": record["completion_us"]}
        for record in records()
    ]
    assert [*shown_metrics(calm)] == ["completion_us"]
    assert [*shown_metrics([*calm, {**calm[0], "lost_frames": 1}])] == ["completion_us", "lost_frames"]
    page = study_html("", "", calm, ["link.detect_us"], "")
    assert "took, µs" in page
    assert "converged after" not in page
    assert "table write" not in distributions(calm)
