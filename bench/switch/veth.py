"""railyard-switchd beside simple_switch_grpc on two veth links: frames a second through a switch's process.

A sender keeps a window of frames under way, so that a switch is asked for all that it gives. As a program it
measures one switch at one size of frame and prints JSON; the network namespace that it makes is gone with it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.switch.subject import TRANSIT, rack_plan, transit
from controller import InstallError
from controller.p4runtime.client import P4RuntimeClient
from emulation.embedded.testbed import EmbeddedTestbed
from emulation.namespace import enter_new_namespace
from harness.run.boot import booted, programs_of

__all__ = ["FRAME_BYTES", "SWITCHES", "veth_rate"]

FRAME_BYTES = (64, 100, 1400)
SWITCHES = {
    "switchd": [sys.executable, "-m", "emulation.switchd.command"],
    "bmv2": ["simple_switch_grpc"],
}
# Frames under way at once: BMv2's capture ring of a veth holds 32, and what comes beyond is lost; ours holds
# more, and a batch costs less a frame.
WINDOWS = {"switchd": 256, "bmv2": 24}
SECONDS = 2.0
WARM_UP_SECONDS = 0.3
START_SECONDS = 30.0
QUEUE_DEPTH = 8192
LOAD = Path(__file__).with_name("veth_load.cpp")
BUILT = Path("build") / "veth_load"


@cache
def build_load() -> str:
    """Compile the sender; its path."""
    BUILT.parent.mkdir(parents=True, exist_ok=True)
    compiler = os.environ.get("CXX", "c++")
    subprocess.run([compiler, "-std=c++20", "-O2", "-o", str(BUILT), str(LOAD), "-pthread"], check=True)
    return str(BUILT)


def veth_rate(which: str, frame_bytes: int) -> dict[str, float]:
    """Frames a second, and processor seconds of the switch a frame."""
    command = [sys.executable, "-m", "bench.switch.veth", which, str(frame_bytes)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"bench.switch.veth {which} {frame_bytes}: {done.stderr.strip()[-2000:]}")
    return json.loads(done.stdout)


def _namespace() -> None:
    enter_new_namespace()
    commands = ["link set dev lo up"]
    for node, neighbour in (("s_in", "h_in"), ("s_out", "h_out")):
        commands.append(f"link add {node} mtu 9000 type veth peer name {neighbour} mtu 9000")
        commands += [f"link set dev {end} up" for end in (node, neighbour)]
    for command in commands:
        subprocess.run(["ip", *command.split()], check=True)


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _connect(client: P4RuntimeClient, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            client.connect({TRANSIT: 1})
            return
        except InstallError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(
                    f"the switch did not start:\n{log.read_text(errors='replace')[-2000:]}"
                ) from None
            time.sleep(0.02)


def _measure(which: str, frame_bytes: int) -> dict[str, float]:
    plan = rack_plan()
    testbed = EmbeddedTestbed(plan.fabric)
    with booted(testbed, plan):
        bare = len(transit(testbed, plan, 0).frame)
        chosen = transit(testbed, plan, frame_bytes - bare)
    load = build_load()
    _namespace()
    with TemporaryDirectory() as folder:
        address, log = f"unix:{folder}/grpc", Path(folder) / "log"
        command = [*SWITCHES[which], "-i", f"{chosen.arrival}@s_in", "-i", f"{chosen.departure}@s_out"]
        command += ["--device-id", "1", "--no-p4", "--", "--grpc-server-addr", address, "--cpu-port", "510"]
        with log.open("wb") as to:
            process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *command], stdout=to, stderr=to)
        try:
            with P4RuntimeClient(address, timeout=30.0) as client:
                _connect(client, process, log)
                client.push_pipeline({TRANSIT: programs_of(plan.fabric)[TRANSIT]})
                client.install({TRANSIT: plan.entries[TRANSIT]})
                if which == "bmv2":
                    depth = f"set_queue_depth {QUEUE_DEPTH}\n"
                    subprocess.run(
                        ["simple_switch_CLI"], input=depth, text=True, check=True, capture_output=True
                    )
                run = [load, "h_in", "h_out", chosen.frame.hex(), str(WINDOWS[which])]
                subprocess.run([*run, str(WARM_UP_SECONDS)], check=True, capture_output=True)
                before = _cpu_seconds(process.pid)
                done = subprocess.run([*run, str(SECONDS)], check=True, capture_output=True, text=True)
                spent = _cpu_seconds(process.pid) - before
        finally:
            process.kill()
            process.wait()
    result = json.loads(done.stdout)
    return {
        "frames_a_second": result["received"] / result["seconds"],
        "lost": result["lost"],
        "switch_cpu_ns_a_frame": 1e9 * spent / max(result["received"], 1),
    }


def main() -> None:
    print(json.dumps(_measure(sys.argv[1], int(sys.argv[2]))))


if __name__ == "__main__":
    main()
