"""Boot and memory of 83 switches, which is a UB-Mesh rack with its spare and its switches: ours, and BMv2's.

All run the NPU program with an NPU's tables. As a program it measures one of the two and prints JSON: memory
needs a fresh process, and BMv2's ports a network namespace, which is gone with it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.memory import proportional_mib
from bench.switch.subject import TRANSIT, rack_plan
from controller import Entry, InstallError
from controller.p4runtime.client import P4RuntimeClient, ProgramFiles
from emulation.namespace import enter_new_namespace
from harness.run.boot import programs_of

__all__ = ["SWITCHES", "boot_figures"]

SWITCHES = 83
START_SECONDS = 120.0
FIRST_THRIFT_PORT = 20_000


def boot_figures(which: str) -> dict[str, float]:
    """`which` is "engine" or "bmv2".

    Seconds from nothing until every switch runs its program, and until the last table entry; MiB a switch.
    """
    command = [sys.executable, "-m", "bench.boot", which]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"bench.boot {which}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def _engine(files: ProgramFiles, entries: dict[str, tuple[Entry, ...]]) -> dict[str, float]:
    from emulation._engine import Network
    from emulation.p4runtime import P4RuntimeServer

    before = proportional_mib("self")
    began = time.perf_counter()
    network = Network()
    ids = {name: network.add_switch(name) + 1 for name in entries}
    server = P4RuntimeServer(network, {id: id - 1 for id in ids.values()}, lock=threading.RLock())
    with P4RuntimeClient(server.start()) as client:
        client.connect(ids)
        client.push_pipeline(dict.fromkeys(entries, files))
        booted = time.perf_counter() - began
        client.install(entries)
        filled = time.perf_counter() - began
        mib = (proportional_mib("self") - before) / SWITCHES
    server.stop()
    return {"boot_seconds": booted, "filled_seconds": filled, "mib_per_switch": mib}


@contextmanager
def _processes(folder: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    enter_new_namespace()
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    started: list[subprocess.Popen[bytes]] = []
    try:
        for number in range(SWITCHES):
            options = ["--device-id", "1", "--no-p4", "--thrift-port", str(FIRST_THRIFT_PORT + number)]
            command = ["setpriv", "--pdeathsig", "KILL", "simple_switch_grpc", *options]
            socket = f"unix:{folder / str(number)}"
            with (folder / f"{number}.log").open("wb") as log:
                command += ["--", "--grpc-server-addr", socket, "--cpu-port", "510"]
                started.append(subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT))
        yield started
    finally:
        for process in started:
            process.kill()
        for process in started:
            process.wait()


def _load(client: P4RuntimeClient, name: str, files: ProgramFiles) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            client.connect({name: 1})
            break
        except InstallError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
    client.push_pipeline({name: files})


def _bmv2(files: ProgramFiles, entries: dict[str, tuple[Entry, ...]]) -> dict[str, float]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        began = time.perf_counter()
        processes = stack.enter_context(_processes(folder))
        clients = [
            P4RuntimeClient(f"unix:{folder / str(number)}", timeout=60.0) for number in range(SWITCHES)
        ]
        for client in clients:
            stack.enter_context(client)
        # As many at a time as there are processors to answer, and a few to keep them busy.
        with ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as pool:
            list(pool.map(_load, clients, entries, [files] * SWITCHES))
            booted = time.perf_counter() - began
            list(pool.map(lambda client, name: client.install({name: entries[name]}), clients, entries))
        filled = time.perf_counter() - began
        mib = sum(proportional_mib(process.pid) for process in processes) / SWITCHES
    return {"boot_seconds": booted, "filled_seconds": filled, "mib_per_switch": mib}


def main() -> None:
    plan = rack_plan()
    files = programs_of(plan.fabric)[TRANSIT]
    names = [node.name for node in plan.fabric.nodes]
    entries = {
        f"switch{number}": tuple(plan.entries[names[number % len(names)]]) for number in range(SWITCHES)
    }
    figures = (_engine if sys.argv[1] == "engine" else _bmv2)(files, entries)
    figures["table_entries"] = sum(map(len, entries.values()))
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
