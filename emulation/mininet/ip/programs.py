# SPDX-License-Identifier: Apache-2.0
"""A user's program on every host, communicating by IPv4 beside UB."""

from __future__ import annotations

import os
import queue
import shlex
import shutil
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import final

from emulation.errors import EmulationError, TestbedError
from emulation.mininet.ip.ports import INTERFACE
from emulation.mininet.net import in_namespace

__all__ = ["MASTER_PORT", "Programs", "check_command", "variables"]

MASTER_PORT = 29500
"""TCP port at which rank 0 waits for all ranks; torchrun's default."""

_LOOK_SECONDS = 0.2
_STOP_SECONDS = 5.0


@final
@dataclass(frozen=True, slots=True)
class _Line:
    """A line of output of a node's program; None: the program has closed its output."""

    node: str
    text: str | None


def check_command(command: str) -> list[str]:
    """Return the words of a command line; TestbedError if it is empty or its program does not exist."""
    try:
        words = shlex.split(command)
    except ValueError as ex:
        raise TestbedError(f"command {command!r}: {ex}", remedy="close every quotation mark") from None
    if not words or shutil.which(words[0]) is None:
        raise TestbedError(
            f"command {command!r}: no program named {words[0] if words else ''!r}",
            remedy='name an installed program, as in "python3 allreduce.py"',
        )
    return words


def variables(addresses: Mapping[str, object]) -> Mapping[str, Mapping[str, str]]:
    """Return the environment variables of every node's program, by node; `addresses` are in order of rank.

    The variables are those of PyTorch's `env://` rendezvous, those by which Gloo, NCCL and TensorPipe learn
    their interface, and RAILYARD_HOSTS (all addresses) and RAILYARD_NODE.
    """
    hosts = [str(address) for address in addresses.values()]
    common = {
        "MASTER_ADDR": hosts[0],
        "MASTER_PORT": str(MASTER_PORT),
        "WORLD_SIZE": str(len(hosts)),
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "1",
        "GLOO_SOCKET_IFNAME": INTERFACE,
        "NCCL_SOCKET_IFNAME": INTERFACE,
        "TP_SOCKET_IFNAME": INTERFACE,
        "RAILYARD_HOSTS": ",".join(hosts),
    }
    return {node: {**common, "RANK": str(rank), "RAILYARD_NODE": node} for rank, node in enumerate(addresses)}


@final
class Programs:
    """Runs a command on every host, from construction until it ends or end() is called.

    Args:
        words: the command line.
        namespaces: namespace of each host, by node.
        environment: environment of all programs.
        own: further variables of each host's environment, by node.
    """

    def __init__(
        self,
        words: Sequence[str],
        namespaces: Mapping[str, str],
        environment: Mapping[str, str],
        own: Mapping[str, Mapping[str, str]],
    ) -> None:
        # Limit each program to one thread, because the programs of all hosts share the processors.
        environment = {"OMP_NUM_THREADS": "1", **environment}
        self._lines: queue.SimpleQueue[_Line] = queue.SimpleQueue()
        self._programs: dict[str, subprocess.Popen[str]] = {}
        try:
            for node, namespace in namespaces.items():
                program = self._programs[node] = subprocess.Popen(
                    in_namespace(namespace, words),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    errors="replace",
                    env={**environment, **own[node]},
                    process_group=0,
                )
                # A daemon: the output stays open while a process that the program has left behind holds it.
                threading.Thread(target=_read, args=(node, program, self._lines), daemon=True).start()
        except BaseException:
            self.end()
            raise

    def follow(self, say: Callable[[str, str], None], check: Callable[[], None] = lambda: None) -> None:
        """Pass each line of output, with its node, to `say`, until every program has ended.

        `check` is called several times a second; an error that it raises ends all programs.

        Raises:
            EmulationError: A program has failed; the others were ended.
        """
        try:
            self._follow(say, check)
        finally:
            self.end()

    def _follow(self, say: Callable[[str, str], None], check: Callable[[], None]) -> None:
        running = set(self._programs)
        while running:
            check()
            try:
                line = self._lines.get(timeout=_LOOK_SECONDS)
            except queue.Empty:
                continue
            if line.text is not None:
                say(line.node, line.text)
                continue
            running.discard(line.node)
            if code := self._programs[line.node].wait():
                ending = f"signal {-code}" if code < 0 else f"code {code}"
                raise EmulationError(
                    f"the program on {line.node} has ended with {ending}; all other programs were ended",
                    remedy="read its output above",
                )

    def end(self) -> None:
        """End all running programs, and the processes started by them."""
        for program in self._programs.values():
            _signal(program, 15)
        for program in self._programs.values():
            try:
                program.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                _signal(program, 9)
                program.wait()


def _read(node: str, program: subprocess.Popen[str], lines: queue.SimpleQueue[_Line]) -> None:
    assert program.stdout is not None
    for line in program.stdout:
        lines.put(_Line(node, line.rstrip("\n")))
    lines.put(_Line(node, None))


def _signal(program: subprocess.Popen[str], number: int) -> None:
    if program.poll() is None:
        os.killpg(program.pid, number)
