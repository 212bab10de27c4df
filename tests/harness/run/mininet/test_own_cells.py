# SPDX-License-Identifier: Apache-2.0
"""Counters and registers of a changed program in real time; BMv2 lets nobody read registers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emulation.mininet.benches import no_rights
from tests.emulation.mininet.commands import KINDS
from tests.harness.run.mininet.real_time import result_on_mininet
from tests.harness.run.programs.test_program_cells import own

reason = no_rights()
pytestmark = [pytest.mark.long, pytest.mark.skipif(bool(reason), reason=reason)]

SCENARIO = """\
name: own
topology: {name: full-mesh, dims: [2, 2]}
collective: {elements: 16384, payload_bytes: 1024}
program: {ub_npu: {file: mine.json}}
variants: [{name: mine}]
assertions:
  - {metric: mine.counters.seen.packets, min: 1}
  - {metric: mine.registers.last, min: 1}
"""


@pytest.mark.parametrize("kind", KINDS)
def test_registers_that_a_switch_does_not_let_read_are_named(kind: str, tmp_path: Path) -> None:
    own(tmp_path, 1)
    result = result_on_mininet(tmp_path, kind, SCENARIO)
    assert {cell["counter"] for cell in result["counters"]["mine"]} == {"seen"}
    (about,) = [item for item in result["assertions"] if item["metric"] == "mine.registers.last"]
    if kind == "builtin":
        assert {cell["register"] for cell in result["registers"]["mine"]} == {"last"}
        assert "unread_registers" not in result
        assert about["value"] > 0
    else:
        assert "registers" not in result
        assert result["unread_registers"] == {"mine": ["last"]}
        assert not about["judged"]
