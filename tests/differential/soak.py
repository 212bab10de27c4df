# SPDX-License-Identifier: Apache-2.0
"""A switch under steady load while its tables and links change, from the command line.

python -m tests.differential.soak                                  # both switches, 10 minutes each
python -m tests.differential.soak --seconds 60 --rate 5000 --switch engine

Numbered frames cross the switch from one link to another at a steady rate; each must arrive once, in order,
and with one of the two values that the entry of its port writes. All the time a client inserts, modifies and
deletes entries over P4Runtime, that entry included, and a third link goes down and up again. The command
needs root. A switch is a process on veth pairs in a network namespace of its own.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import final

from bench.memory import anonymous_mib
from controller import Entry, Exact, InstallError
from controller.p4runtime.client import P4RuntimeClient, ProgramFiles
from controller.plan.diff import diff
from tests.differential.bmv2 import NODE, Bmv2

_ROOT = Path(__file__).resolve().parents[2]
_WIRE = _ROOT / "tests" / "programs" / "build" / "wire"
_COMMANDS = {
    "engine": (sys.executable, "-m", "emulation.switchd.command"),
    "BMv2": ("simple_switch_grpc",),
}
# Frames under way at a time. BMv2 starts with egress queues of 64.
_WINDOW, _QUEUE_DEPTH = 256, 1_024

_IN, _OUT, _FLAPPING = 1, 2, 3
_CHURNED = range(8, 32)
_NEXT = (5, 6)
_FRAME_BYTES, _NUMBER_AT = 100, 16
_TO_FLAPPING = 100  # of so many frames, a further one goes to the link that goes down and up
_TICK_SECONDS = 0.001
_FLAP_SECONDS = 1.0
_CHURN_SECONDS = 0.1
_SAMPLE_SECONDS = 1.0
_LATE_SECONDS = 5.0
_WARM_UP = 0.1
_MOST_GROWTH_MIB = 2.0


@final
@dataclass(slots=True)
class Soak:
    """Figures of a run. Memory is anonymous memory in MiB: after a tenth of the time, at the end, at most."""

    switch: str
    seconds: float = 0.0
    sent: int = 0
    received: int = 0
    out_of_order: int = 0
    wrong: int = 0
    updates: int = 0
    refused: int = 0
    flaps: int = 0
    memory_early: float = 0.0
    memory_late: float = 0.0
    memory_most: float = 0.0
    processor_seconds: float = 0.0
    samples: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Frames a second."""
        return self.sent / self.seconds if self.seconds else 0.0

    @property
    def text(self) -> str:
        """The figures in a line."""
        return (
            f"{self.switch}: {self.sent} frames in {self.seconds:.0f} s, {self.rate:.0f} a second; "
            f"{self.sent - self.received} lost, {self.out_of_order} out of order; {self.updates} updates; "
            f"{self.flaps} flaps; {self.memory_early:.1f} MiB after a tenth of the time, "
            f"{self.memory_late:.1f} at the end, at most {self.memory_most:.1f}; "
            f"{self.processor_seconds:.1f} s of processor time"
        )

    @property
    def faults(self) -> list[str]:
        """Losses, changed frames and growth that fail the soak, in words."""
        lost, growth = self.sent - self.received, self.memory_late - self.memory_early
        result = [f"{lost} frames lost"] if lost else []
        result += [f"{self.out_of_order} frames out of order"] if self.out_of_order else []
        result += [f"{self.wrong} frames with another content"] if self.wrong else []
        result += [f"{self.refused} updates refused"] if self.refused else []
        result += [f"memory grew by {growth:.1f} MiB"] if growth > _MOST_GROWTH_MIB else []
        return result


def soak(switch: str, seconds: float, rate: float) -> Soak:
    """Run a switch for so many seconds with so many frames a second."""
    result = Soak(switch)
    files = ProgramFiles(
        _WIRE.with_suffix(".json").read_bytes(), _WIRE.with_suffix(".p4info.txtpb").read_bytes()
    )
    with (
        tempfile.TemporaryDirectory(prefix="soak-") as name,
        Bmv2((_IN, _OUT, _FLAPPING), Path(name), mtu=2_000, command=_COMMANDS[switch]) as process,
    ):
        if switch == "BMv2":
            process.set_queue_depth(_QUEUE_DEPTH)
        process.client.push_pipeline({NODE: files})
        process.client.install({NODE: [_entry(_OUT, _OUT, _NEXT[0])]})
        ended = threading.Event()
        others = [
            threading.Thread(target=_churn, args=(process.client, result, ended)),
            threading.Thread(target=_flap, args=(process, result, ended)),
            threading.Thread(target=_watch, args=(process, result, ended)),
        ]
        for thread in others:
            thread.start()
        try:
            _exchange(process, result, seconds, rate)
        finally:
            ended.set()
            for thread in others:
                thread.join()
        if process.pid is None:
            raise RuntimeError(f"{switch} has ended")
        result.processor_seconds = processor_seconds(process.pid)
    early = result.samples[int(len(result.samples) * _WARM_UP) :] or [0.0]
    result.memory_early, result.memory_late, result.memory_most = early[0], early[-1], max(early)
    return result


def _exchange(process: Bmv2, result: Soak, seconds: float, rate: float) -> None:
    """Send numbered frames at a rate and receive them, with a bounded number of them under way.

    A sender that was kept waiting makes up for at most a tenth of a second.
    """
    start = time.monotonic()
    due = deadline = start
    sent = received = 0
    while (now := time.monotonic()) - start < seconds:
        due = max(due, now - 0.1)
        while due <= now and sent - received < _WINDOW:
            process.send(_IN, _frame(sent))
            sent += 1
            due += 1.0 / rate
            if sent % _TO_FLAPPING == 0:
                process.send(_IN, bytes([_FLAPPING << 3]) + bytes(_FRAME_BYTES - 1))
        received = _receive(process, result, _TICK_SECONDS, received)
    result.seconds, result.sent = time.monotonic() - start, sent
    deadline = time.monotonic() + _LATE_SECONDS
    while received < sent and time.monotonic() < deadline:
        received = _receive(process, result, 0.01, received)
    result.received = received


def _receive(process: Bmv2, result: Soak, seconds: float, received: int) -> int:
    """Check the frames that have arrived; return the number of frames received so far."""
    for port, data in process.receive(seconds):
        if port != _OUT:
            continue
        number = int.from_bytes(data[_NUMBER_AT : _NUMBER_AT + 8])
        result.out_of_order += number != received
        result.wrong += data[0] >> 3 not in _NEXT or data[1:] != _frame(number)[1:]
        received += 1
    return received


def _churn(client: P4RuntimeClient, result: Soak, ended: threading.Event) -> None:
    """Insert, modify and delete entries of the program's table, the one that frames hit included."""
    held, turn = [_entry(_OUT, _OUT, _NEXT[0])], 0
    while not ended.wait(_CHURN_SECONDS):
        turn += 1
        wanted = [_entry(_OUT, _OUT, _NEXT[turn % 2])]
        wanted += [_entry(port, _FLAPPING, turn % 8) for port in _CHURNED if (port + turn) % 3]
        updates = diff(held, wanted)
        try:
            client.write(NODE, updates)
        except InstallError:
            result.refused += 1
        result.updates += len(updates)
        held = wanted


def _flap(process: Bmv2, result: Soak, ended: threading.Event) -> None:
    up = True
    while not ended.wait(_FLAP_SECONDS):
        up = not up
        process.set_link(_FLAPPING, up)
        result.flaps += not up


def _watch(process: Bmv2, result: Soak, ended: threading.Event) -> None:
    """Take the memory of the process every second."""
    while not ended.wait(_SAMPLE_SECONDS):
        if process.pid is not None:
            result.samples.append(anonymous_mib(process.pid))


def _entry(port: int, to: int, next_port: int) -> Entry:
    return Entry("forward", (("port", Exact(port)),), "forward", (("port", to), ("next", next_port)))


def _frame(number: int) -> bytes:
    return (
        bytes([_OUT << 3]) + bytes(_NUMBER_AT - 1) + number.to_bytes(8) + bytes(_FRAME_BYTES - _NUMBER_AT - 8)
    )


def processor_seconds(pid: int) -> float:
    """Return the processor time that a running process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> int:
    """Run the soak on the switches that were asked for, and print their figures."""
    arguments = _arguments()
    failed = False
    results: list[Soak] = []
    for switch in arguments.switch or list(_COMMANDS):
        result = soak(switch, arguments.seconds, arguments.rate)
        results.append(result)
        print(result.text, flush=True)
        for fault in result.faults:
            print(f"{switch}: {fault}")
            failed = True
    if arguments.out is not None:
        arguments.out.write_text(json.dumps([asdict(result) for result in results], indent=1) + "\n")
    return 1 if failed else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tests.differential.soak", description="A switch under load, with table updates and link flaps."
    )
    parser.add_argument("--seconds", type=float, default=600.0, help="for each switch (default 600)")
    parser.add_argument("--rate", type=float, default=20_000.0, help="frames a second (default 20000)")
    parser.add_argument("--switch", choices=list(_COMMANDS), action="append", help="only this switch")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the figures to a JSON file")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("the soak makes a network namespace: run it as root")
    if "BMv2" in (arguments.switch or _COMMANDS) and shutil.which("simple_switch_grpc") is None:
        sys.exit("simple_switch_grpc is not on the PATH: install BMv2, or give --switch engine")
    return arguments


if __name__ == "__main__":
    sys.exit(main())
