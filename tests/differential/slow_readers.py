# SPDX-License-Identifier: Apache-2.0
"""A switch whose controllers stop reading or read slowly, from the command line.

python -m tests.differential.slow_readers                  # half an hour
python -m tests.differential.slow_readers --seconds 60 --rate 500

Three controllers of one device, each primary of a role of its own, get every packet-in. The first sends
packet-outs to the CPU port at a steady rate and never reads, the second reads a few messages a second.
The third sends numbered packet-outs, a bounded number at a time, and must get each of them back in order. The
memory of the switch must not grow.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from finsy.proto import p4i, p4r
from google.protobuf import text_format

from bench.memory import anonymous_mib
from tests.differential.soak import processor_seconds
from tests.emulation.controller_stub import Controller

_ROOT = Path(__file__).resolve().parents[2]
_WIRE = _ROOT / "tests" / "programs" / "build" / "wire"
_CPU_PORT = 30  # wire.p4 reads the port from the first five bits
_BYTES = 9_000
_FLOOD, _NUMBERED = 0, 1  # second byte of a frame
_WINDOW = 32
_SLOW_SECONDS = 0.1
_SAMPLE_SECONDS = 1.0
_SPARE_SECONDS = 900.0
_WARM_UP = 0.1
_MOST_GROWTH_MIB = 8.0


@final
@dataclass(slots=True)
class Figures:
    """Figures of a run; memory in MiB, sampled every second."""

    seconds: float = 0.0
    stop_seconds: float = 0.0
    stop_processor_seconds: float = 0.0
    flooded: int = 0
    slow: int = 0
    numbered: int = 0
    wrong: int = 0
    samples: list[float] = field(default_factory=list)

    @property
    def settled(self) -> list[float]:
        """Memory after a tenth of the time: by then the queues of the readers are full."""
        return self.samples[int(len(self.samples) * _WARM_UP) :] or [0.0]

    @property
    def text(self) -> str:
        """The figures in a line."""
        settled = self.settled
        return (
            f"{self.seconds:.0f} s: {self.flooded} packet-outs of the controller that never reads; "
            f"{self.slow} messages read slowly; {self.numbered} of the third came back, {self.wrong} wrong; "
            f"{settled[0]:.1f} MiB after a tenth of the time, {settled[-1]:.1f} at the end, "
            f"between {min(settled):.1f} and {max(settled):.1f}; "
            f"ended {self.stop_seconds:.1f} s after SIGTERM, with "
            f"{self.stop_processor_seconds:.2f} s of processor time"
        )

    @property
    def faults(self) -> list[str]:
        """Reasons for which the run fails, in words."""
        growth = self.settled[-1] - self.settled[0]
        result = [f"{self.wrong} packet-ins out of order or changed"] if self.wrong else []
        result += [] if self.numbered else ["no packet-in came back"]
        result += [f"memory grew by {growth:.1f} MiB"] if growth > _MOST_GROWTH_MIB else []
        return result


def run(seconds: float, rate: float, log: Path) -> Figures:
    """Run the three controllers for so many seconds, the flood with so many packet-outs a second."""
    figures = Figures()
    with tempfile.TemporaryDirectory(prefix="readers-") as name, log.open("wb") as said:
        address = f"unix:{name}/p4runtime.sock"
        server = ("--grpc-server-addr", address, "--cpu-port", str(_CPU_PORT))
        command = [sys.executable, "-m", "emulation.switchd.command", "--device-id", "1", "--no-p4"]
        process = subprocess.Popen([*command, "--", *server], cwd=_ROOT, stdout=said, stderr=said)
        try:
            while "Server listening" not in log.read_text():
                if process.poll() is not None:
                    raise RuntimeError(f"the switch did not start: {log.read_text()[-2000:]}")
                time.sleep(0.1)
            _converse(address, process.pid, figures, seconds, rate)
            if process.poll() is not None:
                raise RuntimeError(f"the switch has ended with {process.returncode}")
        finally:
            _stop(process, figures)
    return figures


def _stop(process: subprocess.Popen[bytes], figures: Figures) -> None:
    """Send SIGTERM, wait for the end, and note what it took."""
    used = processor_seconds(process.pid) if process.poll() is None else 0.0
    others, terminated = _processor_seconds_of_children(), time.monotonic()
    process.terminate()
    process.wait()
    figures.stop_seconds = time.monotonic() - terminated
    figures.stop_processor_seconds = _processor_seconds_of_children() - others - used


def _processor_seconds_of_children() -> float:
    """Return what the children of this process that have ended used."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _converse(address: str, pid: int, figures: Figures, seconds: float, rate: float) -> None:
    info = text_format.Parse(_WIRE.with_suffix(".p4info.txtpb").read_text(), p4i.P4Info())
    ended = threading.Event()
    lifetime = 2 * seconds + _SPARE_SECONDS
    with (
        Controller(address, stream_seconds=lifetime) as third,
        Controller(address, role="slow", stream_seconds=lifetime) as slow,
        Controller(address, role="stalled", stream_seconds=lifetime) as stalled,
    ):
        third.enter()
        slow.enter()
        stalled.enter()
        third.push((_WIRE.with_suffix(".json").read_bytes(), info))
        threads = [
            threading.Thread(target=_flood, args=(stalled, figures, ended, rate), daemon=True),
            threading.Thread(target=_read_slowly, args=(slow, figures, ended), daemon=True),
            threading.Thread(target=_watch, args=(pid, figures, ended), daemon=True),
        ]
        for thread in threads:
            thread.start()
        start = time.monotonic()
        sent = 0
        while time.monotonic() - start < seconds:
            while sent - figures.numbered < _WINDOW:
                third.send(packet=p4r.PacketOut(payload=_frame(_NUMBERED, sent)))
                sent += 1
            payload = third.receive().packet.payload
            if payload[1:2] == bytes([_NUMBERED]):
                figures.wrong += payload != _frame(_NUMBERED, figures.numbered)
                figures.numbered += 1
        figures.seconds = time.monotonic() - start
        ended.set()
        for thread in threads:
            thread.join()
        for controller in (slow, stalled):
            controller.channel.close()  # without reading what is left


def _flood(controller: Controller, figures: Figures, ended: threading.Event, rate: float) -> None:
    frame = _frame(_FLOOD, 0)
    due = time.monotonic()
    while not ended.wait(max(0.0, due - time.monotonic())):
        controller.send(packet=p4r.PacketOut(payload=frame))
        figures.flooded += 1
        due = max(due, time.monotonic() - 0.1) + 1.0 / rate


def _read_slowly(controller: Controller, figures: Figures, ended: threading.Event) -> None:
    while not ended.wait(_SLOW_SECONDS):
        controller.receive()
        figures.slow += 1


def _watch(pid: int, figures: Figures, ended: threading.Event) -> None:
    while not ended.wait(_SAMPLE_SECONDS):
        figures.samples.append(anonymous_mib(pid))


def _frame(kind: int, number: int) -> bytes:
    return bytes([_CPU_PORT << 3, kind]) + number.to_bytes(8) + bytes(_BYTES - 10)


def main() -> int:
    """Run the controllers, and print the figures and what the switch said of them."""
    parser = argparse.ArgumentParser(
        prog="tests.differential.slow_readers", description="Controllers that read slowly or not at all."
    )
    parser.add_argument("--seconds", type=float, default=1800.0, help="default 1800")
    parser.add_argument("--rate", type=float, default=1000.0, help="packet-outs a second (default 1000)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="readers-log-") as name:
        log = Path(name) / "switchd.log"
        figures = run(arguments.seconds, arguments.rate, log)
        print(log.read_text()[-2000:])
    print(figures.text)
    for fault in figures.faults:
        print(f"fault: {fault}")
    return 1 if figures.faults else 0


if __name__ == "__main__":
    sys.exit(main())
