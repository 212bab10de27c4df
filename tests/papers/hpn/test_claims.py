# SPDX-License-Identifier: Apache-2.0
"""Claims about HPN that need no run."""

from controller import make_plan
from papers.hpn.claims.topology import choice_points, left_their_plane, run_choices
from topologies import hpn


def test_choices_hold() -> None:
    assert [run_choice.verdict for run_choice in run_choices(lambda what, share: None)] == ["holds"] * 3


def test_choices_are_those_of_the_tables() -> None:
    plan = make_plan(
        hpn(2, 2, 2, aggs=3, planes=1), strategy="hashed", peers=[("gpu0", "gpu4"), ("gpu0", "gpu2")]
    )
    assert choice_points(plan, "gpu0", "gpu4") == (3, 2)
    assert choice_points(plan, "gpu0", "gpu2") == ()


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
