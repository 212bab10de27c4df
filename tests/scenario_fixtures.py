# SPDX-License-Identifier: Apache-2.0
"""A scenario and what might have been seen of it, so that figures and reports are tested without a run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import NoReturn

import pytest
import typer.testing

from emulation.fidelity import Fidelity, Measured, judge
from emulation.linux.record import run
from emulation.testbed import LinkUsage
from harness.run.observation.values import FaultReport, Observation, Recovery, Timeline, Traffic
from harness.run.observation.variant_run import VariantRun
from harness.scenario.loader import load
from harness.scenario.schema import Scenario
from railyard.cli import main
from topologies import Fabric
from topologies.families.registry import build

pytest.register_assert_rewrite("tests.harness.run.mininet.real_time")

# A CliRunner makes the command with all its verbs anew for each call, which takes a tenth of a second.
typer.testing._get_command = cache(typer.testing._get_command)  # pyright: ignore

Railyard = Callable[..., tuple[int, str, str]]

SCENARIO = """\
name: small
title: A small one
topology: {name: full-mesh, dims: [4, 4]}
collective: {algorithm: bidirectional-dimension-order, elements: 4096, payload_bytes: 1024}
link: {detect_us: 1}
faults:
  - {at_us: 0.3, link: npu0-npu1}
variants:
  - name: healthy
    faults: []
  - name: cut
assertions:
  - {metric: healthy.ratio_to_bound, max: 2.5}
  - {metric: cut.completion_us, min: {metric: healthy.completion_us, times: 1.0}}
"""


@pytest.fixture
def railyard(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Railyard:
    """Calls the command in a folder of its own; returns its exit code, output and messages."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["railyard", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        return int(end.value.code or 0), said.out, said.err

    return call


@pytest.fixture
def command_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets checks of experiments call the command here; tests/railyard/test_command.py starts its process."""

    def call(*arguments: str | Path) -> int:
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["railyard", *map(str, arguments)])
            with pytest.raises(SystemExit) as end:
                main()
        return int(end.value.code or 0)

    monkeypatch.setattr("railyard.command.railyard", call)


@pytest.fixture
def refused(railyard: Railyard, monkeypatch: pytest.MonkeyPatch) -> Railyard:
    """Calls the command; fails if a run in real time begins, the only thing that could leave anything."""

    def begin(*_: object) -> NoReturn:
        pytest.fail("a run has begun")

    monkeypatch.setattr(run, "_free_id", begin)
    return railyard


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    """Puts a scenario's text into a file."""

    def put(text: str) -> Path:
        path = tmp_path / "scenario.yaml"
        path.write_text(text)
        return path

    return put


@pytest.fixture
def scenario_file(write: Callable[[str], Path]) -> Path:
    return write(SCENARIO)


@pytest.fixture
def scenario(scenario_file: Path) -> Scenario:
    return load(scenario_file)[0]


@pytest.fixture
def fabric() -> Fabric:
    return build("full-mesh", dims=(4, 4))


@pytest.fixture
def runs(fabric: Fabric) -> dict[str, VariantRun]:
    return {
        "healthy": _variant_run(fabric, 1_000_000),
        "cut": _variant_run(fabric, 2_000_000, cut="npu0-npu1"),
    }


@pytest.fixture
def fidelities() -> dict[str, Fidelity]:
    """One of a run whose times can be believed, and one of a run on a machine that was too slow."""
    believed = Measured(
        dilation=20_000,
        seconds=2.0,
        stated_bps=20e6,
        offered_bytes=10_000_000,
        sent_bytes=9_900_000,
        lateness_us=(90.0, 800.0, 9_000.0),
        waiting_us=(2_000.0, 60_000.0, 200_000.0),
        cpu_busy=0.6,
        busiest=("switch npu3", 0.4),
        drops={"fault": 4, "veth": 0},
        shaped=True,
    )
    doubted = replace(believed, cpu_busy=0.97, drops={"fault": 4, "veth": 37}, notes=("a <note>",))
    return {"believed": judge(believed), "doubted": judge(doubted)}


@pytest.fixture
def variant_run(fabric: Fabric) -> Callable[..., VariantRun]:
    """Makes a run of its completion_ps and, if need be, of the link that was cut and of right NPUs."""
    return partial(_variant_run, fabric)


def _carried(size: int) -> LinkUsage:
    """Counters of a direction that carried `size` bytes and lost nothing."""
    return LinkUsage(
        frames=size // 1000,
        bytes=size,
        busy_ps=20 * size,
        lost_frames=0,
        refused_frames=0,
        max_queued_bytes=size // 10,
    )


def _variant_run(fabric: Fabric, completion_ps: int, cut: str = "", right: int = 16) -> VariantRun:
    seen = Observation(
        completion_ps=completion_ps,
        nodes=16,
        correct_nodes=right,
        first_wrong="",
        checksum=0xC0FFEE,
        table_entries=4000,
        traffic=Traffic(
            sent=480,
            retransmitted=3,
            received=480,
            duplicates=1,
            acknowledgements=60,
            lost_with_link=2,
            dropped_by_switch=0,
        ),
        timeline=Timeline(100_000, (0, 25_000, 50_000, 12_500)),
        link_usage={link.name: (_carried(25_000), _carried(50_000)) for link in fabric.links},
        faults=(FaultReport(300_000, cut, "down"),) if cut else (),
        recovery=Recovery(1_500_000, 4, 3, 12) if cut else Recovery(None, 0, 0, 0),
    )
    return VariantRun(seen, 800_000, {link.name: link.rate_bps for link in fabric.links})
