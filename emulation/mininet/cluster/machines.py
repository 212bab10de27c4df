# SPDX-License-Identifier: Apache-2.0
"""Machines for the parts of a fabric, read from a YAML file."""

import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path, PurePath
from typing import Any, Final, final

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from emulation.errors import TestbedError

__all__ = ["VXLAN_PORT", "Machine", "Machines", "read_machines"]

VXLAN_PORT: Final = 4789
"""UDP port of VXLAN (RFC 7348)."""

_KEYS: Final = {"name", "address", "ssh", "python", "nodes"}
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


@final
@dataclass(frozen=True, slots=True)
class Machine:
    """A machine that runs a part of a fabric.

    `address` is the IPv4 address by which the other machines reach it. `ssh` are the words of a command that
    runs another command on this machine. `python` are the words of a command that runs Python as root, with
    Railyard installed. `nodes` are nodes of the fabric that must be on the machine.
    """

    name: str
    address: IPv4Address
    ssh: Sequence[str]
    python: Sequence[str]
    nodes: Sequence[str] = ()

    def command(self, *words: str) -> list[str]:
        """Return the command line for running Python with `words` on the machine."""
        return [*self.ssh, shlex.join([*self.python, *words])]

    def ssh_with(self, *options: str) -> list[str]:
        """Return the command line of ssh to the machine, with `options` right after the word `ssh`."""
        return _insert_options(self.ssh, options)


@final
@dataclass(frozen=True, slots=True)
class Machines:
    """The machines of a fabric, and the UDP port of the tunnels between them."""

    machines: Sequence[Machine]
    vxlan_port: int = VXLAN_PORT


def read_machines(path: Path) -> Machines:
    """Return the machines of a file.

    Raises:
        TestbedError: The file cannot be read or does not describe machines; the message names file and key.
    """
    try:
        document = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
    except OSError as ex:
        raise TestbedError(
            f"{path} cannot be read: {ex.strerror}", remedy="name a file with the key `machines`"
        ) from None
    except YAMLError as ex:
        raise TestbedError(f"{path} is not valid YAML: {' '.join(str(ex).split())}") from None
    if not isinstance(document, dict) or not isinstance(document.get("machines"), list):
        raise TestbedError(
            f"{path} has no list `machines`", remedy="write `machines:` and `- {name: a, address: 10.0.0.1}`"
        )
    if unknown := sorted(set(document) - {"machines", "vxlan_port"}):
        raise TestbedError(
            f"{path} has an unknown key {unknown[0]}", remedy="give `machines:` and `vxlan_port:` only"
        )
    port = document.get("vxlan_port", VXLAN_PORT)
    if not isinstance(port, int) or not 0 < port < 65536:
        raise TestbedError(f"{path}: `vxlan_port` is {port!r}", remedy="name a UDP port, 1 to 65535")
    entries = [_machine(path, number, entry) for number, entry in enumerate(document["machines"])]
    if len(entries) < 2:
        raise TestbedError(f"{path} names {len(entries)} machines", remedy="name two or more")
    for key in ("name", "address"):
        values = [getattr(machine, key) for machine in entries]
        if twice := next((value for value in values if values.count(value) > 1), None):
            raise TestbedError(
                f"{path}: two machines have the {key} {twice}", remedy=f"give each its own {key}"
            )
    return Machines(tuple(entries), port)


def _machine(path: Path, number: int, entry: Any) -> Machine:
    where = f"{path}: machines[{number}]"
    if not isinstance(entry, dict):
        raise TestbedError(f"{where} is {entry!r}", remedy="write {name: a, address: 10.0.0.1}")
    if unknown := sorted(set(entry) - _KEYS):
        raise TestbedError(
            f"{where} has an unknown key {unknown[0]}", remedy=f"use the keys {', '.join(sorted(_KEYS))}"
        )
    name = entry.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise TestbedError(
            f"{where}: `name` is {name!r}",
            remedy="use letters, digits and _ . -, and begin with a letter or digit",
        )
    try:
        address = IPv4Address(entry.get("address"))
    except ValueError:
        raise TestbedError(
            f"{where}: `address` is {entry.get('address')!r}",
            remedy="give the IPv4 address by which the other machines reach it",
        ) from None
    nodes = entry.get("nodes", [])
    if not isinstance(nodes, list) or not all(isinstance(node, str) for node in nodes):
        raise TestbedError(f"{where}: `nodes` is {nodes!r}", remedy="give a list of names of nodes")
    ssh = _words(where, entry, "ssh", f"ssh root@{address}")
    return Machine(
        name, address, _with_options(ssh), _words(where, entry, "python", sys.executable), tuple(nodes)
    )


def _words(where: str, entry: Mapping[str, Any], key: str, default: str) -> list[str]:
    text = entry.get(key, default)
    try:
        words = shlex.split(text) if isinstance(text, str) else []
    except ValueError:
        words = []
    if not words:
        raise TestbedError(f"{where}: `{key}` is {text!r}", remedy=f"give a command such as {default}")
    return words


def _with_options(words: list[str]) -> tuple[str, ...]:
    """Add options to an ssh command: never ask for input; end when the machine stops answering."""
    options = ("BatchMode=yes", "ConnectTimeout=10", "ServerAliveInterval=5", "ServerAliveCountMax=3")
    given = [part for option in options for part in ("-o", option)]
    return tuple(_insert_options(words, given))


def _insert_options(words: Sequence[str], options: Sequence[str]) -> list[str]:
    """Insert `options` behind the program name ssh (as in `sudo ssh a`), else behind the first word."""
    at = next((at for at, word in enumerate(words) if PurePath(word).name == "ssh"), 0) + 1
    return [*words[:at], *options, *words[at:]]
