# SPDX-License-Identifier: Apache-2.0
"""Scenarios over several machines, which are namespaces here, each with its own sshd and /run."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.emulation.mininet.benches import no_rights
from tests.emulation.mininet.cluster.kills import kill_at_random
from tests.emulation.mininet.cluster.lab import Lab, why_no_lab
from tests.emulation.mininet.cluster.test_machines_testbed import railyard, run, running
from tests.emulation.mininet.commands import KINDS

reason = no_rights() or why_no_lab()
pytestmark = pytest.mark.skipif(bool(reason), reason=reason)

SECONDS = 900.0

SCENARIO = """\
name: two-machines
topology: {name: full-mesh, dims: [2, 2]}
collective: {kind: allreduce, algorithm: bidirectional-dimension-order, elements: 24576, payload_bytes: 4096}
routing: {strategy: all-path, notification: direct}
transport: {window: 32, initial_rto_us: 5, min_rto_us: 5}
faults:
  - {at_us: 0.3, link: npu0-npu2, event: down}
assertions:
  - {metric: run.nodes_notified, min: 1}
"""


def command(lab: Lab, folder: Path, *options: str) -> list[str]:
    file = folder / "scenario.yaml"
    file.write_text(SCENARIO)
    bed = ["--testbed", "mininet", "--switch", "builtin", "--machines", str(lab.file())]
    return railyard(lab, "run", str(file), *bed, "--out", str(folder / "out"), *options)


@contextmanager
def sending(lab: Lab, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Start a run that takes a minute or more, and wait until its agents begin."""
    with running(command(lab, folder, "--dilation", "50000000")) as process:
        assert process.stderr is not None
        said = ""
        for line in process.stderr:
            said += line
            if "run: running" in line:
                break
        else:
            raise AssertionError(said)
        yield process


def test_machines_of_a_run_are_for_mininet(tmp_path: Path) -> None:
    file = tmp_path / "scenario.yaml"
    file.write_text(SCENARIO)
    words = ["run", str(file), "--machines", str(tmp_path / "machines.yaml")]
    code, _, err = run([sys.executable, "-m", "railyard", *words])
    assert code == 2
    assert "needs --testbed mininet" in err.replace("│ ", "")


@pytest.mark.long
def test_a_crossing_link_is_cut_and_the_result_is_that_of_one_machine(tmp_path: Path) -> None:
    with Lab(tmp_path, 2) as lab:
        trace = tmp_path / "trace.json"
        options = ["--record", "--trace", str(trace), "--pcap", "npu0-npu2", "--dilation", "500000"]
        words = command(lab, tmp_path, *options)
        # The first row of the mesh on machine a: the link that is cut leads to machine b.
        lab.file(a={"nodes": "[npu0, npu1]"}, b={"nodes": "[npu2, npu3]"})
        code, said, err = run(words)
        assert code == 0, said + err
        assert "wall clocks beside the controlling machine's: a " in said + err
        result = json.loads((tmp_path / "out" / "result.json").read_text())
        metrics = result["metrics"]
        assert (metrics["run.npus"], metrics["run.correct_npus"]) == (4, 4)
        notes = result["fidelity"]["run"]["measured"]["notes"]
        assert notes[0].startswith("4 nodes on 2 machines (a: 2, b: 2); 2 of 4 links cross machines")
        checks = {check["what"]: check for check in result["fidelity"]["run"]["checks"]}
        assert "clocks of the machines" in checks
        for file in ("run.recording", "report.html", "run-npu0-npu2.pcap"):
            assert (tmp_path / "out" / file).stat().st_size > 100
        assert json.loads(trace.read_text())["traceEvents"]
        embedded = tmp_path / "embedded"
        code, said, err = run(
            [sys.executable, "-m", "railyard", "run", str(tmp_path / "scenario.yaml"), "--out", str(embedded)]
        )
        assert code == 0, said + err
        virtual = json.loads((embedded / "result.json").read_text())["metrics"]
        for metric in ("sent_frames", "received_frames", "result_crc32", "table_entries"):
            assert metrics[f"run.{metric}"] == virtual[f"run.{metric}"]
        assert lab.everything_left() == []


@pytest.mark.long
def test_a_machine_without_tcpdump_is_named_before_anything_starts(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for folder in reversed(os.environ["PATH"].split(os.pathsep)):
        for tool in Path(folder).glob("*"):
            (tools / tool.name).unlink(missing_ok=True)
            (tools / tool.name).symlink_to(tool)
    (tools / "tcpdump").unlink(missing_ok=True)
    with Lab(tmp_path, 2) as lab:
        words = command(lab, tmp_path, "--pcap", "npu0-npu2")
        file = lab.file()
        before, python, after = file.read_text().rpartition("python: env ")
        file.write_text(f"{before}{python}PATH={tools} {after}")
        code, said, err = run(words)
        assert code == 3, said + err
        assert "machine b: tcpdump is not installed; " in err
        assert "filling tables" not in err
        assert lab.everything_left() == []


RACK = """\
name: rack-over-machines
topology: {name: ub-rack, lane_rate_gbps: 100}
collective: {kind: allreduce, algorithm: bidirectional-dimension-order, elements: 65536, payload_bytes: 4096}
routing: {strategy: all-path, rules: T2-G, notification: direct}
link: {detect_us: 0.1}
control: {processing_us: 0.1}
transport: {window: 32, initial_rto_us: 5, min_rto_us: 5}
faults:
  - {at_us: 0.4, link: npu0-npu16, event: down}
variants:
  - {name: healthy, faults: []}
  - {name: cut}
assertions:
  - {metric: cut.sent_frames, equals: {metric: healthy.sent_frames}}
  - {metric: cut.result_crc32, equals: {metric: healthy.result_crc32}}
  - {metric: cut.nodes_notified, min: 2}
"""


@pytest.mark.long
def test_a_rack_on_four_machines_loses_a_crossing_link(tmp_path: Path) -> None:
    """Two rows of the rack on each machine; the link between the first rows of two machines is cut."""
    rows = {name: [f"npu{16 * row + node}" for node in range(16)] for row, name in enumerate("abcd")}
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(RACK)
    with Lab(tmp_path, 4) as lab:
        keys: dict[str, dict[str, object]] = {
            name: {"nodes": f"[{', '.join(nodes)}]"} for name, nodes in rows.items()
        }
        file = lab.file(**keys)
        bed = ["--testbed", "mininet", "--switch", "builtin", "--machines", str(file)]
        words = railyard(lab, "run", str(scenario), *bed, "--dilation", "2000000", "--out")
        code, said, err = run([*words, str(tmp_path / "out")])
        assert code == 0, said + err
        metrics = json.loads((tmp_path / "out" / "result.json").read_text())["metrics"]
        for variant in ("healthy", "cut"):
            assert (metrics[f"{variant}.npus"], metrics[f"{variant}.correct_npus"]) == (64, 64)
        assert "192 of 448 links cross machines" in said + err
        assert lab.everything_left() == []


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_features_over_machines_are_those_of_virtual_time(tmp_path: Path, kind: str) -> None:
    features = ["circuits that follow jobs", "priorities", "a pool of memory", "a spare NPU takes over"]
    features += ["congestion marks"]
    with Lab(tmp_path, 2) as lab:
        module = "tests.harness.run.mininet.features.on_machines"
        words = [sys.executable, "-m", module, str(lab.file()), kind, *features]
        code, said, err = run(lab.in_control(words))
        assert code == 0, said + err
        for feature in features:
            assert f"same: {feature}" in said
        assert lab.everything_left() == []


@pytest.mark.long
def test_a_machine_whose_sshd_is_killed_ends_the_run_loudly(tmp_path: Path) -> None:
    with Lab(tmp_path, 2) as lab:
        with sending(lab, tmp_path) as process:
            lab.kill_sshd("b")
            _, err = process.communicate(timeout=SECONDS)
            assert process.returncode not in (0, None)
        assert "machine b: the connection has ended" in " ".join(err.split())
        assert lab.left_settled() == []
        lab.start_sshd("b")
        code, said, err = run(railyard(lab, "clean"))
        assert code == 0, said + err
        assert lab.everything_left() == []


@pytest.mark.long
def test_ctrl_c_ends_the_run_and_leaves_nothing(tmp_path: Path) -> None:
    with Lab(tmp_path, 2) as lab:
        with sending(lab, tmp_path) as process:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=SECONDS)
            assert process.returncode not in (0, None)
        assert lab.everything_left() == []


@pytest.mark.long
@pytest.mark.parametrize("verb", ["run", "up"])
def test_kills_at_random_moments_leave_nothing(tmp_path: Path, verb: str) -> None:
    """`python -m tests.emulation.mininet.cluster.kills` does it more often."""
    chance = random.Random(f"{verb} 1")
    with Lab(tmp_path, 2) as lab:
        for _ in range(3):
            kill_at_random(lab, chance, verb, 20.0)
