# SPDX-License-Identifier: Apache-2.0
"""p4lang/tutorials against railyard-switchd: the solutions of its exercises, by its own scripts and Mininet.

RAILYARD_TUTORIALS         a checkout of the tutorials; without it, all of this is skipped
RAILYARD_TUTORIALS_PYTHON  the Python that has what they need: mininet, p4runtime, p4.tmp, grpc, psutil, scapy
RAILYARD_TUTORIALS_SWITCH  simple_switch_grpc runs the same against BMv2

Every exercise runs in namespaces of its own, which are gone with it.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import final

import pytest

ROOT = Path(__file__).resolve().parents[3]
CHECKOUT = os.environ.get("RAILYARD_TUTORIALS", "")
PYTHON = os.environ.get("RAILYARD_TUTORIALS_PYTHON", sys.executable)
SWITCH = os.environ.get("RAILYARD_TUTORIALS_SWITCH", "railyard-switchd-grpc")
SECONDS = 600


def missing() -> str:
    if not CHECKOUT:
        return "RAILYARD_TUTORIALS names no checkout of p4lang/tutorials"
    if not Path(CHECKOUT, "utils/run_exercise.py").is_file():
        return f"RAILYARD_TUTORIALS={CHECKOUT} is no checkout of p4lang/tutorials"
    if os.geteuid() != 0:
        return "Mininet needs root"
    for tool in ("p4c-bm2-ss", "mnexec", "unshare", "ping", "iperf"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed"
    needed = "import mininet.net, p4.v1.p4runtime_pb2, p4.tmp.p4config_pb2, grpc, psutil, scapy"
    result = subprocess.run([PYTHON, "-c", needed], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        return f"RAILYARD_TUTORIALS_PYTHON={PYTHON}: {result.stderr.strip().splitlines()[-1]}"
    return ""


pytestmark = pytest.mark.skipif(bool(why := missing()), reason=why or "all there")


@final
@dataclass(frozen=True)
class Run:
    """Output and folder of an exercise."""

    output: str
    folder: Path

    def text(self, name: str) -> str:
        path = self.folder / name
        return path.read_text(errors="replace") if path.exists() else ""

    def count(self, name: str, what: str) -> int:
        return self.text(name).count(what)


def sends_until(sender: str, log: str, sign: str) -> str:
    """Sends again until the receiver has told of it: it may not have been listening yet."""
    return (
        f"for i in 1 2 3 4 5 6 7 8 9 10; do {sender} >> send.log 2>&1; sleep 0.3; "
        f"grep -q '{sign}' {log} && break; done"
    )


def until(sign: str, log: str) -> str:
    """A command for Mininet's prompt that waits, 10 seconds at most, for something to be told."""
    return f"sh for i in $(seq 100); do grep -q '{sign}' {log} && break; sleep 0.1; done"


def carry_out(
    name: str, commands: list[str], tmp_path: Path, *, topology: str = "topology.json", program: str
) -> Run:
    """Compile the solution as the tutorials' Makefile does; run their script with these Mininet commands."""
    shutil.copytree(Path(CHECKOUT, "utils"), tmp_path / "utils")
    folder = tmp_path / "exercises" / name
    shutil.copytree(Path(CHECKOUT, "exercises", name), folder)
    for solution in (folder / "solution").iterdir():
        if solution.name == "s1-runtime.json":
            shutil.copy(solution, (folder / topology).parent)
        elif solution.suffix != ".license":
            shutil.copy(solution, folder)
    for created in ("build", "logs", "pcaps"):
        (folder / created).mkdir()
    for source in folder.glob("*.p4"):
        info, compiled = f"build/{source.stem}.p4.p4info.txtpb", f"build/{source.stem}.json"
        compile = ["p4c-bm2-ss", "--p4v", "16", "--p4runtime-files", info, "-o", compiled, source.name]
        subprocess.run(compile, cwd=folder, capture_output=True, check=True)
    wrapper = tmp_path / "bin" / "railyard-switchd-grpc"
    wrapper.parent.mkdir()
    wrapper.write_text(
        f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m emulation.switchd.command "$@"\n'
    )
    wrapper.chmod(0o755)
    apart = ["unshare", "--net", "--pid", "--fork", "--mount-proc", "--kill-child"]
    start = ["sh", "-c", 'ip link set lo up; exec "$@"', "-", "python3", "../../utils/run_exercise.py"]
    done = subprocess.run(
        [*apart, *start, "-t", topology, "-j", f"build/{program}.json", "-b", SWITCH],
        cwd=folder,
        input="".join(f"{command}\n" for command in [*commands, "exit"]),
        env={**os.environ, "PATH": f"{wrapper.parent}:{Path(PYTHON).parent}:{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return Run(done.stdout, folder)


@pytest.fixture
def exercise(tmp_path: Path) -> Callable[..., Run]:
    def run(name: str, *commands: str, program: str = "", topology: str = "topology.json") -> Run:
        return carry_out(name, list(commands), tmp_path, topology=topology, program=program or name)

    return run


def test_basic(exercise: Callable[..., Run]) -> None:
    run = exercise(
        "basic",
        "pingall",
        "h2 ./receive.py > received.log 2>&1 &",
        f"h1 {sends_until('./send.py 10.0.2.2 P4-is-cool', 'received.log', 'P4-is-cool')}",
        topology="pod-topo/topology.json",
    )
    assert "Results: 0% dropped (12/12 received)" in run.output
    received = run.text("received.log")
    assert "P4-is-cool" in received
    # Two hops of the folded Clos within the pod: 64 on leaving, one less at the switch between.
    assert re.search(r"ttl\s+= 63\b", received)


def test_basic_on_the_triangle(exercise: Callable[..., Run]) -> None:
    run = exercise("basic", "pingall", topology="triangle-topo/topology.json")
    assert "Results: 0% dropped (6/6 received)" in run.output


def test_basic_tunnel(exercise: Callable[..., Run]) -> None:
    run = exercise(
        "basic_tunnel",
        "h2 ./receive.py > h2.log 2>&1 &",
        "h3 ./receive.py > h3.log 2>&1 &",
        f"h1 {sends_until('./send.py 10.0.2.2 by-address', 'h2.log', 'by-address')}",
        # The tunnel's id decides, whatever the IP address says.
        f"h1 {sends_until('./send.py 10.0.3.3 by-tunnel --dst_id 2', 'h2.log', 'by-tunnel')}",
    )
    assert run.count("h2.log", "by-address") > 0
    assert run.count("h2.log", "by-tunnel") > 0
    assert run.count("h2.log", "MyTunnel") > 0
    assert run.count("h3.log", "by-tunnel") == 0


def test_source_routing(exercise: Callable[..., Run]) -> None:
    send = r"""printf "2 3 2 2 1\nq\n" | ./send.py 10.0.2.2"""
    run = exercise(
        "source_routing",
        "h2 ./receive.py > received.log 2>&1 &",
        f"h1 {sends_until(send, 'received.log', 'got a packet')}",
    )
    received = run.text("received.log")
    assert "got a packet" in received
    assert re.search(r"ttl\s+= 59\b", received)  # five hops
    assert "SourceRoute" not in received


def test_load_balance(exercise: Callable[..., Run]) -> None:
    run = exercise(
        "load_balance",
        "h2 ./receive.py > h2.log 2>&1 &",
        "h3 ./receive.py > h3.log 2>&1 &",
        f"h1 {sends_until('./send.py 10.0.0.1 hello', 'h2.log', 'got a packet')}",
        f"h1 {sends_until('./send.py 10.0.0.1 hello', 'h3.log', 'got a packet')}",
    )
    assert run.count("h2.log", "got a packet") > 0
    assert run.count("h3.log", "got a packet") > 0
    assert run.count("h2.log", "10.0.2.2") > 0
    assert run.count("h3.log", "10.0.3.3") > 0


def test_multicast(exercise: Callable[..., Run]) -> None:
    """ARP requests reach all: no host has a neighbour entry beforehand."""
    run = exercise("multicast", "pingall", topology="sig-topo/topology.json")
    assert "Results: 0% dropped (12/12 received)" in run.output


def test_p4runtime(exercise: Callable[..., Run]) -> None:
    run = exercise(
        "p4runtime",
        "sh python3 -u mycontroller.py > controller.log 2>&1 &",
        until("Reading tunnel counters", "controller.log"),
        "h1 ping -c 4 -i 0.2 h2",
        until("200: 4 packets", "controller.log"),
        program="advanced_tunnel",
    )
    assert "4 packets transmitted, 4 received" in run.output
    told = run.text("controller.log")
    assert "s1 MyIngress.ingressTunnelCounter 100: 4 packets" in told
    assert "s2 MyIngress.egressTunnelCounter 100: 4 packets" in told
    assert "s1 MyIngress.egressTunnelCounter 200: 4 packets" in told
    assert "MyIngress.ipv4_lpm:" in told  # read back


def test_link_monitor(exercise: Callable[..., Run]) -> None:
    run = exercise(
        "link_monitor",
        "h1 python3 -u receive.py > received.log 2>&1 &",
        "h1 ./send.py > send.log 2>&1 &",
        "h4 iperf -s -u > h4.log 2>&1 &",
        until("Server listening", "h4.log"),
        until("Switch 1 - Port 4", "received.log"),  # a probe a second from now on
        # Not as fast as it goes: the tutorials' receiver sees this traffic too, and would miss probes.
        "h1 timeout --foreground -k 1 20 iperf -c 10.0.4.4 -u -b 4M -t 3",
        until("Port [0-9]: [1-9]", "received.log"),
        topology="pod-topo/topology.json",
    )
    rates = [float(rate) for rate in re.findall(r"Port \d+: ([\d.e-]+) Mbps", run.text("received.log"))]
    assert rates
    assert max(rates) > 0.5  # the traffic of iperf, as the switches counted it
    assert min(rates) >= 0


def test_firewall(exercise: Callable[..., Run]) -> None:
    run = exercise(
        "firewall",
        "pingall",
        "h1 iperf -s > inside.log 2>&1 &",
        "h3 iperf -s > outside.log 2>&1 &",
        until("Server listening", "inside.log"),
        until("Server listening", "outside.log"),
        "h1 timeout --foreground -k 1 20 iperf -c 10.0.3.3 -t 1",
        "h1 echo out-of-the-network",
        "h3 timeout --foreground -k 1 5 iperf -c 10.0.1.1 -t 1",
        program="basic",
        topology="pod-topo/topology.json",
    )
    assert "Results: 0% dropped (12/12 received)" in run.output
    allowed, _, refused = run.output.partition("out-of-the-network")
    assert "Mbits/sec" in allowed or "Gbits/sec" in allowed or "Kbits/sec" in allowed
    assert "bits/sec" not in refused
