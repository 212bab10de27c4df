# SPDX-License-Identifier: Apache-2.0
"""Intervals, verdicts, statistics and mutations of claims."""

import math
from dataclasses import replace

import pytest

from papers.claims import Check, Interval, Kind, Measured, Progress, Values, over_seeds, verdict
from papers.claims.check import judged
from papers.claims.claim import number
from papers.claims.declare import (
    at_least,
    at_most,
    between,
    changed,
    derived,
    identity,
    shifted,
    stated,
)
from papers.claims.mutations import mutated
from papers.claims.page import strip_svg
from topologies.errors import RailyardError

CLAIM = stated("gain", "gain", between(4, 7), "%", shifted(4), place="a paper, §2")
KNOWN = replace(CLAIM, expected=between(8, 9), reason="links are wider here")


@pytest.mark.parametrize(
    ("interval", "inside", "outside", "words"),
    [
        (Interval(72, 72), (72,), (71, 73), "72 lanes"),
        (between(95, 96), (95.0, 96.0), (94.9, 96.1), "95 to 96 lanes"),
        (at_most(1), (-5, 1), (1.01,), "at most 1 lanes"),
        (at_least(0.4), (0.4, 9), (0.39,), "at least 0.4 lanes"),
    ],
)
def test_an_interval_holds_its_ends(interval, inside, outside, words):
    assert all(value in interval for value in inside)
    assert not any(value in interval for value in (*outside, math.nan))
    assert interval.text("lanes") == words


def test_an_empty_interval_is_refused():
    with pytest.raises(ValueError, match="interval from 2 to 1 is empty"):
        between(2, 1)


def test_a_declared_figure_becomes_the_interval_in_which_the_claim_holds():
    assert (CLAIM.kind, CLAIM.paper, CLAIM.holds) == (Kind.stated, between(4, 7), between(4, 7))
    known = stated("lanes", "lanes", 72, "lanes", shifted(9), place="§1", within=2, expected=76, reason="so")
    assert (known.paper, known.holds, known.expected) == (Interval(72, 72), between(70, 74), Interval(76, 76))
    wide = stated("lanes", "lanes", 72, "lanes", shifted(9), place="§1", within=2, holds=at_least(70))
    assert wide.holds == at_least(70)
    ours = derived("lanes", "lanes", 72, "lanes", shifted(9), place="§1", within=2, paper=70)
    assert (ours.kind, ours.paper, ours.holds) == (Kind.derived, Interval(70, 70), between(70, 74))
    assert derived("lanes", "lanes", 72, "lanes", shifted(9), place="§1").paper is None
    same = identity("lanes", "lanes", 72, "lanes", place="§1")
    assert (same.kind, same.mutation) == (Kind.identity, None)


def test_a_figure_in_words_needs_the_interval_in_which_it_holds():
    fewer = stated("links", "links", "fewer", "links", shifted(9), place="§1", holds=at_most(4))
    assert (fewer.paper, fewer.holds) == ("fewer", at_most(4))
    with pytest.raises(ValueError, match=r"'links'.* but 'fewer'; give `holds`"):
        stated("links", "links", "fewer", "links", shifted(9), place="§1")


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
        replace(CLAIM, expected=between(8, 9))
    with pytest.raises(ValueError, match="where it holds"):
        replace(CLAIM, expected=between(5, 6), reason="so")


def test_a_check_measures_what_it_declares():
    assert [row.verdict for row in judged((CLAIM,), {"gain": 5})] == ["holds"]
    with pytest.raises(KeyError, match="loss"):
        judged((CLAIM,), {"gain": 5, "loss": 1})
    with pytest.raises(KeyError, match="gain"):
        judged((CLAIM,), {})


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
    with pytest.raises(ValueError, match="9 seeds; an interval needs at least 10"):
        over_seeds([1.0] * 9)


def test_a_mutation_measures_again_once_for_equal_parameters():
    calls = []

    def measure(note: Progress, lanes: int = 4) -> Values:
        note("counting", 0.5)
        calls.append(lanes)
        return {"used": 18 * lanes, "gain": 5.0, "free": 0}

    fewer = changed("lanes x3", lanes=3)
    used = replace(CLAIM, name="used", holds=Interval(72, 72), mutation=fewer)
    loose = replace(CLAIM, name="free", holds=at_most(1), mutation=fewer)
    shares: list[float] = []
    check = Check("lanes", "ub-mesh", "lanes", (used, CLAIM, loose), measure)
    turns = mutated(check, lambda what, share: shares.append(share))
    assert calls == [4, 3]
    assert [(turn.value, turn.turned) for turn in turns] == [(54, True), (9.0, True), (0, False)]
    assert shares == [0.25, 0.75]


def test_parameters_that_are_refused_turn_a_verdict():
    def measure(note: Progress, lanes: int = 4) -> Values:
        if lanes > 4:
            raise RailyardError("too many lanes", remedy="use 4")
        return {"gain": 5.0}

    wide = replace(CLAIM, mutation=changed("lanes x8", lanes=8))
    (turn,) = mutated(Check("lanes", "ub-mesh", "lanes", (wide,), measure), lambda what, share: None)
    assert turn.turned
    assert math.isnan(turn.value)


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
    (row,) = judged((KNOWN,), {"gain": Measured(8.5, 8.2, 8.9, 10)})
    drawing = strip_svg(row)
    assert drawing.count("<rect") == 2
    assert drawing.count('class="paper"') == 2
    assert 'class="whisker"' in drawing
    assert "gain: 8.5 %; 8.2 to 8.9 % over 10 seeds" in drawing
