# SPDX-License-Identifier: Apache-2.0
"""A switch on ten veth pairs in a network namespace of its own, and PTF at their other ends.

The namespace has no name: it lives in a thread that enters it and in what that thread starts, and is gone
with them, even when this process is killed.
"""

import ast
import re
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self, final

from emulation.namespace import enter_new_namespace
from tests.differential.ptf.suites import ENDS_WITH_US, Suite, SuiteError

__all__ = ["SWITCHES", "Bench", "BenchError"]

_ROOT = Path(__file__).resolve().parents[3]
_PORTS = range(10)
_MTU = "9500"
_CPU_PORT = "510"
_GRPC = ("127.0.0.1", 9559)
_START_SECONDS, _STOP_SECONDS = 120.0, 10.0
# Seconds that a test waits for a frame, and for silence: at first, and when it is repeated.
_PATIENCE = ((4.0, 0.2), (15.0, 1.0))
# A test that waits for a frame in vain takes two seconds, p4-guide's tests of idle timeouts half a minute.
_SECONDS_A_TEST = 120.0

SWITCHES = {
    "BMv2": ("simple_switch_grpc",),
    "engine": (sys.executable, "-m", "emulation.switchd.command"),
}

_HEAD = re.compile(r"^(\w+\.\w+) \.\.\. ", re.MULTILINE)
_RAISED = re.compile(r"\w[\w.]*(Error|Exception|Rendezvous|RpcError)\b")
_VERDICT = re.compile(r"(?:^|\s)(ok|FAIL|ERROR)$", re.MULTILINE)


class BenchError(Exception):
    """A namespace, a link or a switch that did not come up."""


@final
class Bench:
    """The namespace; `python` is an interpreter with the packages ptf and p4runtime-shell."""

    def __init__(self, python: Path, directory: Path) -> None:
        self._ptf = python.parent / "ptf"
        self._python = python
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None
        self._inside = ThreadPoolExecutor(max_workers=1)

    def __enter__(self) -> Self:
        self._inside.submit(self._make_links).result()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        self._inside.shutdown()

    def _make_links(self) -> None:
        enter_new_namespace()
        (self._directory / "logs").mkdir(exist_ok=True)  # the tutorials' tests write there
        _ip("link", "set", "lo", "up")
        for port in _PORTS:
            node, neighbour = f"s{port}", f"h{port}"
            _ip("link", "add", node, "mtu", _MTU, "type", "veth", "peer", "name", neighbour, "mtu", _MTU)
            for end in (node, neighbour):
                _ip("link", "set", end, "up")

    def run(self, switch: str, suite: Suite, tests: Path) -> dict[str, str]:
        """Run the tests of a suite that was built in the bench's directory; return verdicts by test.

        A verdict is "ok" or the reason. A test that fails is repeated with longer timeouts, since the machine
        may have been busy. A test that ends the switch fails; those behind it get a new one.
        """
        verdicts = self._run_all(switch, suite, tests, _names(tests), _PATIENCE[0])
        failed = [name for name, verdict in verdicts.items() if verdict != "ok"]
        return verdicts | self._run_all(switch, suite, tests, failed, _PATIENCE[1])

    def _run_all(
        self, switch: str, suite: Suite, tests: Path, names: Sequence[str], patience: tuple[float, float]
    ) -> dict[str, str]:
        verdicts: dict[str, str] = {}
        while waiting := [name for name in names if name not in verdicts]:
            self._inside.submit(self._start, switch).result()
            output = self._inside.submit(self._run_ptf, suite, tests, waiting, patience).result()
            assert self._process is not None
            ended = self._process.poll()
            self._stop()
            seen = _verdicts(output)
            for name in waiting:
                verdict = seen.get(name, "no verdict: " + " | ".join(output.splitlines()[-3:]))
                if ended is not None and verdict != "ok":
                    verdicts[name] = f"the switch ended with {ended}"
                    break
                verdicts[name] = verdict
        return verdicts

    def _run_ptf(self, suite: Suite, tests: Path, names: Sequence[str], patience: tuple[float, float]) -> str:
        built = self._directory
        parameters = (
            f"grpcaddr='{_GRPC[0]}:{_GRPC[1]}';p4info='{built / 'program.p4info.txtpb'}';"
            f"config='{built / 'program.json'}';packet_wait_time='{patience[1]}'"
        )
        interfaces = [part for port in _PORTS for part in ("-i", f"{port}@h{port}")]
        arguments = [
            *interfaces,
            f"--test-params={parameters}",
            "--default-timeout",
            str(patience[0]),
            *names,
        ]
        return self._call_ptf(suite, tests, arguments, 60.0 + _SECONDS_A_TEST * len(names))

    def _call_ptf(self, suite: Suite, tests: Path, arguments: Sequence[str], seconds: float) -> str:
        path = [part for folder in suite.python_path for part in ("--pypath", str(folder))]
        command = [
            *ENDS_WITH_US,
            str(self._python),
            str(self._ptf),
            *path,
            "--test-dir",
            str(tests),
            *arguments,
        ]
        try:
            done = subprocess.run(
                command,
                cwd=self._directory,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=seconds,
                check=False,
            )
        except subprocess.TimeoutExpired as ex:
            return (ex.stdout or b"").decode(errors="replace") + f"\nptf took more than {seconds:.0f} s"
        return done.stdout.decode(errors="replace")

    def _start(self, switch: str) -> None:
        interfaces = [part for port in _PORTS for part in ("-i", f"{port}@s{port}")]
        server = ("--grpc-server-addr", f"{_GRPC[0]}:{_GRPC[1]}", "--cpu-port", _CPU_PORT)
        with (self._directory / f"{switch}.log").open("wb") as log:
            self._process = subprocess.Popen(
                [
                    *(*ENDS_WITH_US, *SWITCHES[switch]),
                    *("--device-id", "0", *interfaces, "--no-p4", "--", *server),
                ],
                cwd=_ROOT,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        deadline = time.monotonic() + _START_SECONDS
        while True:
            try:
                socket.create_connection(_GRPC, timeout=1.0).close()
                return
            except OSError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    said = (self._directory / f"{switch}.log").read_text(errors="replace")
                    raise BenchError(f"{SWITCHES[switch][0]} did not start: {said[-500:]}") from None
                time.sleep(0.05)

    def _stop(self) -> None:
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None


def _names(tests: Path) -> list[str]:
    """Return the tests of a directory as PTF names them: MODULE.CLASS of classes with a test to run."""
    names: list[str] = []
    for file in sorted(tests.glob("*.py")):
        classes = [node for node in ast.parse(file.read_text()).body if isinstance(node, ast.ClassDef)]
        for item in classes:
            methods = {node.name for node in item.body if isinstance(node, ast.FunctionDef)}
            if "runTest" in methods and not item.name.startswith("Abstract"):
                names.append(f"{file.stem}.{item.name}")
    if not names:
        raise SuiteError(f"{tests} has no test")
    return names


def _verdicts(output: str) -> dict[str, str]:
    """Return "ok" or the reason by test, from what PTF prints."""
    summary, *failures = re.split(r"^={70}$", output, flags=re.MULTILINE)
    parts = _HEAD.split(summary)[1:]
    verdicts: dict[str, str] = {}
    for name, said in zip(parts[::2], parts[1::2], strict=True):
        if words := _VERDICT.findall(said):
            verdicts[name] = words[-1]
    for block in failures:
        if head := re.match(r"\s*(?:FAIL|ERROR): (\w+\.\w+)", block):
            trace = block.split("-" * 70)[1].strip().splitlines()
            heads = [at for at, line in enumerate(trace) if _RAISED.match(line)]
            verdicts[head[1]] = " ".join(trace[heads[-1] if heads else -1 :])[:300]
    return verdicts


def _ip(*arguments: str) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BenchError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
