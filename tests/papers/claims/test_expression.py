# SPDX-License-Identifier: Apache-2.0
"""Expressions over figures: what they read, what they give, and what is not an expression."""

import pytest

from papers.claims.expression import Expression
from papers.claims.figures.sources import Figures
from topologies.errors import RailyardError

FIGURES = Figures(
    {"two-classes.first.iteration_us": 30.0, "alone.iteration_us": 20, "2d-fm.x": 4},
    {
        "cut_off": {"tor": "gpu0 has lost it"},
        "takeovers": {"npu": [{"spare": "spare0", "without": []}]},
        "counters": {
            "mine": [
                {"node": node, "counter": "long", "index": index, "packets": packets, "bytes": 64 * packets}
                for node, index, packets in [("npu0", 1, 5), ("npu0", 2, 6), ("npu1", 1, 7)]
            ]
        },
        "registers": {"mine": [{"node": "npu0", "register": "longest", "index": 3, "value": 9}]},
    },
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("two-classes.first.iteration_us / alone.iteration_us", 1.5),
        ("100 * (two-classes.first.iteration_us / alone.iteration_us - 1)", 50.0),
        ("2d-fm.x ** 2 - 1e1", 6.0),
        ("max(alone.iteration_us, 2d-fm.x) if 2d-fm.x > 3 else 0", 20),
        ("sum(each('*.iteration_us')) == 50 and not 2d-fm.x < 4 <= 2d-fm.x", True),
        ('takeovers.npu[0].spare == "spare0"', True),
        ("starts(cut_off.tor, 'gpu0 has lost') + len(takeovers.npu)", 2),
        ("takeovers.npu[0].without == []", True),
        ("mine.counters.long.packets / mine.counters.long[npu0].packets", 18 / 11),
        ("mine.counters.long[npu0:2].bytes", 384),
        ("mine.registers.longest[npu0:3] - mine.registers.none", 9),
    ],
)
def test_values(text: str, value: float):
    assert Expression(text).of(FIGURES.plain, FIGURES.each) == value


def test_names_are_those_of_figures_alone():
    assert Expression("max(a.b, c-d.e[1]) if x else 2 * 'y'").names == ("a.b", "c-d.e[1]", "x")


@pytest.mark.parametrize(
    "text", ["", "a +", "open('x')", "(lambda: 1)()", "a.b = 2", "f'{a}'", "max(a, key=b)", "[a for a in b]"]
)
def test_what_is_no_expression(text: str):
    with pytest.raises(
        RailyardError,
        match="is not an expression; write figures",
    ):
        Expression(text)


def test_an_unknown_figure_names_its_neighbour():
    with pytest.raises(RailyardError, match=r"no figure 'alone.iteration'.*did you mean"):
        Expression("alone.iteration").of(FIGURES.plain, FIGURES.each)


def test_a_pattern_that_no_figure_matches_is_refused():
    with pytest.raises(RailyardError, match=r"no figure matches '\*.completion_us'; correct the pattern"):
        Expression("sum(each('*.completion_us'))").of(FIGURES.plain, FIGURES.each)


def test_values_that_do_not_fit():
    with pytest.raises(RailyardError, match="ZeroDivisionError"):
        Expression("1 / (2d-fm.x - 4)").of(FIGURES.plain, FIGURES.each)
