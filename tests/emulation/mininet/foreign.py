# SPDX-License-Identifier: Apache-2.0
"""Things that are none of a run's: what cleaning must not touch."""

import os
import secrets
import subprocess
from pathlib import Path
from typing import Self, final

from emulation.linux import netns

__all__ = ["Foreign"]


@final
class Foreign:
    """A namespace named like a run's, with a veth end and a process in it; a bridge and a process outside."""

    def __init__(self, folder: Path) -> None:
        self._tag = secrets.token_hex(3)
        self.namespace = f"railyard-{self._tag}-fabric"
        self._file = folder / f"{self._tag}.sock"
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        try:
            self._plant()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _plant(self) -> None:
        netns.create(self.namespace)
        _ip("link", "add", f"v{self._tag}a", "type", "veth", "peer", "name", f"v{self._tag}b")
        _ip("link", "set", f"v{self._tag}b", "netns", self.namespace)
        self._bridge = not _ip("link", "add", f"b{self._tag}", "type", "bridge", may_fail=True)
        self._file.write_text("foreign")
        self.start()
        self.start(self.namespace)
        self._before = self._look()

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
        _ip("link", "delete", f"v{self._tag}a", may_fail=True)
        _ip("link", "delete", f"b{self._tag}", may_fail=True)
        netns.remove(self.namespace)

    def start(self, namespace: str = "") -> int:
        """A process, in a namespace if one is named; with a token that is not the run's."""
        enter = ["nsenter", f"--net=/run/netns/{namespace}"] if namespace else []
        environment = {**os.environ, "RAILYARD_RUN": "another's"}
        self._processes.append(subprocess.Popen([*enter, "sleep", "1000"], env=environment))
        return self._processes[-1].pid

    def check(self) -> None:
        """All of it is as it was."""
        assert self._look() == self._before
        assert [process.poll() for process in self._processes] == [None] * len(self._processes)

    def _look(self) -> list[object]:
        inside = ["ip", "-o", "-n", self.namespace, "link"]
        return [
            subprocess.run(inside, capture_output=True, check=True).stdout,
            netns.identity(self.namespace),
            subprocess.run(["ip", "-o", "link", "show", f"v{self._tag}a"], capture_output=True).stdout,
            subprocess.run(["ip", "-o", "link", "show", f"b{self._tag}"], capture_output=True).stdout,
            self._file.read_text(),
        ]


def _ip(*arguments: str, may_fail: bool = False) -> int:
    return subprocess.run(["ip", *arguments], check=not may_fail, capture_output=True).returncode
