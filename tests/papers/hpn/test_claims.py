# SPDX-License-Identifier: Apache-2.0
"""HPN's claims: computed and mutated; choices and planes by the tables."""

import pytest

from controller import make_plan
from controller.path_probing import PathProbe
from papers.claims import passed, rows_of
from papers.hpn.figures.topology import left_their_plane
from tests.papers.checks import checks, turns_of
from topologies import hpn

CHECKS = checks("hpn")


def test_one_check_takes_minutes():
    assert [name for name, check in CHECKS.items() if check.long] == ["four-allreduces-packets"]


@pytest.mark.parametrize("name", ["choices", "four-allreduces"])
def test_every_mutation_of_a_computed_claim_turns_it(name: str):
    assert passed(rows_of(CHECKS[name]))
    turns = turns_of(CHECKS[name])
    assert [turn.row.claim.name for turn in turns if not turn.turned] == []


@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["sizes", "planes", "lacp", "share", "failures", "path-search", "polarisation"]
)
def test_what_is_measured_is_accepted(name: str):
    assert passed(rows_of(CHECKS[name]))


def test_choices_are_those_of_the_tables() -> None:
    plan = make_plan(
        hpn(2, 2, 2, aggs=3, planes=1), strategy="hashed", peers=[("gpu0", "gpu4"), ("gpu0", "gpu2")]
    )
    assert PathProbe(plan).group_sizes("gpu0", "gpu4") == (3, 2)
    assert PathProbe(plan).group_sizes("gpu0", "gpu2") == ()


def test_flows_that_leave_their_plane_are_those_between_segments() -> None:
    pairs = [("gpu0", "gpu4"), ("gpu4", "gpu0")]
    left = {
        planes: left_their_plane(
            make_plan(hpn(2, 1, 4, planes=planes), strategy="hashed", peers=pairs), ["gpu0", "gpu4"]
        )
        for planes in (1, 2)
    }
    assert left[2] == (0, 512)
    assert 128 <= left[1][0] <= 384
