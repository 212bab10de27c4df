# SPDX-License-Identifier: Apache-2.0
"""Declared actions are those of the compiled programs, with their parameters in order."""

from pathlib import Path

import pytest

from controller import Exact, PlanError
from controller.errors import InstallError
from controller.p4runtime.p4info import P4Info
from controller.tables import actions
from controller.tables.actions import SET_PORT, SET_SEGMENT, Action

BUILD = Path(__file__).resolve().parents[3] / "p4" / "build"
INFOS = {path.name.removesuffix(".p4info.txtpb"): path for path in sorted(BUILD.glob("*.p4info.txtpb"))}
DECLARED = [value for name in actions.__all__ if isinstance(value := getattr(actions, name), Action)]


def layouts(action: Action) -> dict[str, tuple[str, ...] | None]:
    """Return the parameters of an action by program that has its table; None where the table lacks it."""
    by_program = {}
    for program, path in INFOS.items():
        try:
            _, known = P4Info.parse(path.read_bytes()).layout(action.table)
        except InstallError:
            continue
        by_program[program] = known.get(action.name)
    return by_program


@pytest.mark.parametrize("action", DECLARED, ids=lambda action: action.name)
def test_programs_have_the_action_with_these_parameters(action: Action) -> None:
    by_program = layouts(action)
    assert by_program
    # Only switches on rails have groups.
    having = {program: params for program, params in by_program.items() if params is not None}
    assert having
    assert set(having.values()) == {action.params}
    if having.keys() != by_program.keys():
        assert action.name == "set_group"
        assert all(program.startswith("rail_switch") for program in having)


def test_a_call_with_too_few_values_is_refused() -> None:
    with pytest.raises(PlanError, match="takes 3 parameters, got 2; give base, shift, mask"):
        SET_SEGMENT.entry((), 1, 2)


def test_an_action_is_known_by_its_table_and_name() -> None:
    entry = SET_PORT.entry((("index", Exact(1)),), 3)
    assert SET_PORT.is_called_by(entry)
    assert not actions.SET_EGRESS_PORT.is_called_by(entry)
