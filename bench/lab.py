# SPDX-License-Identifier: Apache-2.0
"""The Mininet testbed: the scenario of experiments/02_real_time on it, and beside it on the embedded one.

As a program it measures one thing and prints JSON, so that each begins with a fresh process:

    start KIND FABRIC           a fabric comes up, carries half a collective and goes
    run KIND FABRIC FOLDER      the whole scenario; its picture goes to FOLDER

KIND is a kind of switch or `embedded`, FABRIC the shape of a full mesh, as 2x4, or `rack`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast, final

from bench.memory import available_mib, family, proportional_mib
from emulation.embedded.testbed import EmbeddedTestbed
from emulation.errors import TestbedError
from emulation.mininet.machine import need_machine
from emulation.mininet.switches.processes import SwitchKind
from emulation.mininet.testbed import MininetTestbed
from emulation.traffic.host.spec import agent_specs
from emulation.traffic.schedule.data import make_inputs
from harness.report.picture import picture_svg
from harness.run.boot import booted
from harness.run.observation.variant_run import VariantRun
from harness.run.prepare import Prepared, prepare
from harness.run.real_time import RealTime
from harness.run.runner import run
from harness.run.testbeds import Embedded, TestbedChoice
from harness.scenario.document import Document
from harness.scenario.loader import load
from harness.scenario.schema import Scenario

__all__ = ["RACK", "SCENARIO", "missing", "run_figures", "start_figures"]

SCENARIO = Path(__file__).resolve().parents[1] / "experiments" / "02_real_time" / "scenario.yaml"
RACK = "rack"
SEED = 1

Figures = dict[str, Any]


def missing() -> str:
    """Return the reason why the lab cannot be measured here; empty when it can."""
    try:
        need_machine()
    except TestbedError as ex:
        return str(ex)
    return ""


def start_figures(kind: str, fabric: str) -> dict[str, float]:
    """Seconds by stage, and of the end; memory of a run that is half done; how much was started."""
    return _fresh("start", kind, fabric)


def run_figures(kind: str, fabric: str, folder: Path) -> dict[str, Figures]:
    """Return the figures by variant; the report's picture is `folder`/picture.svg."""
    return _fresh("run", kind, fabric, str(folder))


def _fresh(*arguments: str) -> Any:
    command = [sys.executable, "-m", "bench.lab", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"bench.lab {' '.join(arguments)}: {done.stderr.strip()[-2000:]}")
    return json.loads(done.stdout)


def _scenario(fabric: str) -> tuple[Scenario, Document]:
    scenario, document = load(SCENARIO)
    if fabric != RACK:
        dims = tuple(map(int, fabric.split("x")))
        topology = scenario.topology.resized("full-mesh", dims=dims)
        scenario = scenario.model_copy(update={"topology": topology, "assertions": ()})
    return scenario, document


def _start(kind: SwitchKind, fabric: str) -> dict[str, float]:
    ready = prepare(*_scenario(fabric))[0]
    collective = ready.variant.collective
    addresses = [ready.fabric.node(name).address for name in ready.members]
    inputs = make_inputs(len(ready.members), collective.elements, collective.dtype, SEED)
    specs = agent_specs(ready.sliced, inputs, addresses, transport=ready.transport)
    testbed = RealTime(kind).make(ready, ready.bound_ps, SEED)
    assert isinstance(testbed, MininetTestbed)
    free = available_mib()
    began = time.perf_counter()
    with booted(testbed, ready.plan) as up:
        testbed.attach_agents(dict(zip(ready.members, specs, strict=True)))
        testbed.run(0)
        started = time.perf_counter()
        # Until the first frame nothing is in the kernel's queues; halfway everything is.
        testbed.run(ready.bound_ps // 2)
        processes = family()
        result = {
            "tables": up.seconds
            - sum(testbed.seconds[stage] for stage in ("namespaces", "links", "switches")),
            "start": started - began,
            "fell_mib": free - available_mib(),
            "pss_mib": sum(map(proportional_mib, processes)),
            "processes": len(processes),
            "entries": up.entries,
            "interfaces": 2 * len(testbed.cabling.endpoints),
        }
        stopping = time.perf_counter()
    return {**testbed.seconds, **result, "stop": time.perf_counter() - stopping}


@final
class _Keeping:
    """A choice that remembers what it has made."""

    def __init__(self, choice: TestbedChoice) -> None:
        self.name, self.switch, self.options = choice.name, choice.switch, choice.options
        self.check_machine, self.check = choice.check_machine, choice.check
        self.made: list[EmbeddedTestbed | MininetTestbed] = []
        self._choice = choice

    def make(
        self, ready: Prepared, bin_ps: int, seed: int, *, captures: bool = False
    ) -> EmbeddedTestbed | MininetTestbed:
        testbed = self._choice.make(ready, bin_ps, seed, captures=captures)
        assert isinstance(testbed, EmbeddedTestbed | MininetTestbed)
        self.made.append(testbed)
        return testbed


def _run(kind: str, fabric: str, folder: Path) -> dict[str, Figures]:
    scenario, document = _scenario(fabric)
    prepared = prepare(scenario, document)
    choice = _Keeping(Embedded() if kind == "embedded" else RealTime(cast(SwitchKind, kind)))
    done = run(prepared, SEED, choice=choice)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "picture.svg").write_text(picture_svg(scenario, prepared[0].fabric, done.runs))
    return {
        name: {**_of(run), **_of_testbed(run, testbed), "wall_seconds": done.seconds[name]["run"]}
        for (name, run), testbed in zip(done.runs.items(), choice.made, strict=True)
    }


def _of(run: VariantRun) -> Figures:
    seen = run.observation
    return {
        "npus": seen.nodes,
        "correct_npus": seen.correct_nodes,
        "completion_us": seen.completion_ps / 10**6,
        "bound_us": run.bound_ps / 10**6,
        "data_frames": seen.traffic.sent,
        "retransmitted_frames": seen.traffic.retransmitted,
    }


def _of_testbed(run: VariantRun, testbed: EmbeddedTestbed | MininetTestbed) -> Figures:
    """Return the figures that only a run in real time has."""
    if run.fidelity is None or isinstance(testbed, EmbeddedTestbed):
        return {}
    measured, traffic = run.fidelity.measured, run.observation.traffic
    over_links = sum(way.frames for pair in testbed.link_usage().values() for way in pair)
    to_npus = traffic.received + traffic.duplicates + traffic.acknowledgements
    passes = over_links + to_npus
    busy_seconds = measured.cpu_busy * measured.seconds * (os.cpu_count() or 1)
    rest_seconds = busy_seconds - testbed.agent_seconds - testbed.switch_seconds
    return {
        "dilation": measured.dilation,
        "real_seconds": measured.seconds,
        "cpu_busy": measured.cpu_busy,
        "trustworthy": run.fidelity.trustworthy,
        "reasons": list(run.fidelity.reasons),
        "passes_a_second": passes / measured.seconds,
        "agent_us_a_frame": 10**6 * testbed.agent_seconds / traffic.sent,
        "switch_us_a_pass": 10**6 * testbed.switch_seconds / passes,
        "rest_us_a_pass": 10**6 * max(0.0, rest_seconds) / passes,
    }


def main(arguments: Sequence[str]) -> None:
    what, kind, fabric, *folder = arguments
    if what == "start":
        print(json.dumps(_start(cast(SwitchKind, kind), fabric)))
    else:
        print(json.dumps(_run(kind, fabric, Path(*folder))))


if __name__ == "__main__":
    main(sys.argv[1:])
