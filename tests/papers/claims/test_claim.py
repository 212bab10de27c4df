# SPDX-License-Identifier: Apache-2.0
"""Intervals, verdicts, statistics and mutations of claims."""

import math

import pytest

from papers.claims import Claim, Interval, Kind, Measured, Mutation, judged, over_seeds, verdict
from papers.claims.claim import number
from papers.claims.figures.sources import Figures
from papers.claims.page import strip_svg

KEYS = {
    "name": "gain",
    "text": "gain",
    "place": "a paper, §2",
    "kind": Kind.stated,
    "unit": "%",
    "paper": Interval(4, 7),
    "holds": Interval(4, 7),
    "mutation": Mutation(shift=4),
}
CLAIM = Claim(**KEYS)
KNOWN = CLAIM.model_copy(update={"expected": Interval(8, 9), "reason": "links are wider here"})


@pytest.mark.parametrize(
    ("interval", "inside", "outside", "words"),
    [
        (Interval(72, 72), (72,), (71, 73), "72 lanes"),
        (Interval(95, 96), (95.0, 96.0), (94.9, 96.1), "95 to 96 lanes"),
        (Interval(high=1), (-5, 1), (1.01,), "at most 1 lanes"),
        (Interval(low=0.4), (0.4, 9), (0.39,), "at least 0.4 lanes"),
    ],
)
def test_an_interval_holds_its_ends(interval, inside, outside, words):
    assert all(value in interval for value in inside)
    assert not any(value in interval for value in (*outside, math.nan))
    assert interval.text("lanes") == words


def test_an_empty_interval_is_refused():
    with pytest.raises(ValueError, match="interval from 2 to 1 is empty"):
        Interval(2, 1)


@pytest.mark.parametrize(
    ("claim", "measured", "expected"),
    [
        (CLAIM, Measured(5.0), "holds"),
        (CLAIM, Measured(7.1), "unexpected"),
        (CLAIM, Measured(math.nan), "unexpected"),
        (CLAIM, Measured(5.0, 4.1, 6.9, 10), "holds"),
        (CLAIM, Measured(5.0, 3.9, 6.9, 10), "unexpected"),
        (KNOWN, Measured(8.5), "known difference"),
        (KNOWN, Measured(5.0), "unexpected"),
        (KNOWN, Measured(900.0), "unexpected"),
        (KNOWN, Measured(8.5, 8.1, 9.1, 10), "unexpected"),
    ],
)
def test_the_whole_confidence_interval_has_to_be_accepted(claim, measured, expected):
    assert verdict(claim, measured) == expected


def test_a_known_difference_has_a_reason_and_lies_outside_of_what_holds():
    with pytest.raises(ValueError, match="give its reason"):
        Claim(**KEYS, expected=Interval(8, 9))
    with pytest.raises(ValueError, match="where it holds"):
        Claim(**KEYS, expected=Interval(5, 6), reason="so")


def test_claims_read_figures_and_expressions_over_them():
    figures = Figures({"gain": Measured(5.0, 4.5, 5.5, 10), "base.us": 40, "other.us": 8})
    ratio = CLAIM.model_copy(update={"name": "ratio", "value": "base.us / other.us"})
    loss = CLAIM.model_copy(update={"name": "loss"})
    rows = judged((CLAIM, ratio, loss), figures)
    assert [row.verdict for row in rows] == ["holds", "holds", "unexpected"]
    assert rows[0].measured == Measured(5.0, 4.5, 5.5, 10)
    assert rows[1].measured == Measured(5.0)
    assert "no figure 'loss'" in rows[2].trouble


def test_an_interval_over_seeds_holds_the_median_and_narrows_with_seeds():
    few = over_seeds([1.01, 1.02, 1.03, 1.05, 1.06, 1.07, 1.08, 1.09, 1.10, 1.11])
    many = over_seeds([1.01, 1.02, 1.03, 1.05, 1.06, 1.07, 1.08, 1.09, 1.10, 1.11] * 9)
    assert few.low is not None
    assert few.high is not None
    assert many.low is not None
    assert many.high is not None
    assert few.value == pytest.approx(1.065)
    assert 1.01 <= few.low < few.value < few.high <= 1.11
    assert many.high - many.low < few.high - few.low
    assert over_seeds([2.0] * 10).low == 2.0


def test_fewer_than_ten_seeds_are_refused():
    with pytest.raises(
        ValueError, match="there are 9 seeds, and an interval needs at least 10; run more seeds"
    ):
        over_seeds([1.0] * 9)


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (146048, "", "146,048"),
        (2.0449, "x", "2.045x"),
        (0.0001, "%", "0.0001 %"),
        (34741.74, "s", "34,741.7 s"),
    ],
)
def test_numbers_have_four_digits_and_counts_all(value, unit, words):
    assert number(value, unit) == words


def test_the_plot_of_a_row_has_both_bands_the_paper_and_ours():
    (row,) = judged((KNOWN,), Figures({"gain": Measured(8.5, 8.2, 8.9, 10)}))
    drawing = strip_svg(row)
    assert drawing.count("<rect") == 2
    assert drawing.count('class="paper"') == 2
    assert 'class="whisker"' in drawing
    assert "gain: 8.5 %; 8.2 to 8.9 % over 10 seeds" in drawing
