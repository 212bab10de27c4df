# SPDX-License-Identifier: Apache-2.0
"""Importer of exercises of the P4 language project's tutorials: fabric, programs, table entries, groups.

`TOPO` in the Makefile names the topology file; the default is topology.json. The topology names a file
sN-runtime.json for each switch. This file names the program and its p4info (.txt or .txtpb), and has the
table entries. A program that is not built is compiled from its source. The hosts' shell commands are shown,
and never run.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from finsy.proto import p4r

from controller.errors import InstallError
from controller.p4runtime.client import ProgramFiles
from controller.p4runtime.entries_file import node_entries
from controller.p4runtime.p4info import P4Info
from controller.plan.entry import Entry
from harness.errors import FormatError
from harness.formats.documents import Item, read_json
from harness.formats.files import within
from harness.formats.text import open_file, open_text
from harness.run.programs.own_program import own_program
from topologies import Fabric
from topologies.sources.files import read_fabric

__all__ = ["Exercise", "read_exercise"]

_TOPOLOGY = re.compile(r"\s*TOPO\s*[:?]?=\s*(\S+)\s*")
_ENDINGS = (".txtpb", ".txt")
_MAX_ID = (1 << 32) - 1
_KEYS = frozenset(
    {"target", "p4info", "bmv2_json", "table_entries", "multicast_group_entries", "clone_session_entries"}
)


@final
@dataclass(frozen=True, slots=True)
class Exercise:
    """Content of the folder of an exercise.

    Attributes:
        fabric: Switches and hosts.
        programs: Compiled program by switch.
        entries: Table entries by switch.
        replication: Multicast groups and clone sessions by switch.
        commands: Shell commands by host; Railyard does not run them.
    """

    fabric: Fabric
    programs: Mapping[str, ProgramFiles]
    entries: Mapping[str, Sequence[Entry]]
    replication: Mapping[str, Sequence[p4r.PacketReplicationEngineEntry]]
    commands: Mapping[str, Sequence[str]] = field(default_factory=dict)


def read_exercise(folder: Path, program: Path | None = None) -> Exercise:
    """Read the folder of an exercise; compile programs that are not built.

    Args:
        folder: The folder, such as exercises/basic.
        program: P4 source that all switches run instead of the programs that the folder names.

    Raises:
        FormatError: A file is invalid or lies outside the folder; the message names file and line.
        TopologyError: The topology is invalid.
        ProgramError: A program does not compile, or p4c is not installed.
    """
    path = _topology(folder)
    document = read_json(path)
    fabric = read_fabric(path)
    reader = _Reader(folder, program)
    switches = dict(document.blocks("switches"))
    for node in fabric.nodes:
        reader.add(node.name, switches[node.name])
    commands = {
        host: [_text(command) for command in item.items("commands")]
        for host, item in document.blocks("hosts")
        if "commands" in item
    }
    return Exercise(fabric, reader.programs, reader.entries, reader.replication, commands)


def _text(item: Item) -> str:
    if not isinstance(item.value, str):
        item.refuse("a host's command is no text", "put the command in quotes")
    return item.value


def _topology(folder: Path) -> Path:
    """Return the path of the topology file: `TOPO` of the Makefile, otherwise topology.json."""
    makefile = folder / "Makefile"
    name = "topology.json"
    if makefile.is_file():
        for line in open_text(within(folder, makefile)):
            if match := _TOPOLOGY.fullmatch(line):
                name = match[1]
    path = within(folder, folder / name)
    open_file(path).close()
    return path


@final
class _Reader:
    """Collects programs, entries and groups of the switches of an exercise, switch by switch."""

    def __init__(self, folder: Path, program: Path | None) -> None:
        self.programs: dict[str, ProgramFiles] = {}
        self.entries: dict[str, list[Entry]] = {}
        self.replication: dict[str, list[p4r.PacketReplicationEngineEntry]] = {}
        self._folder = folder
        self._given = program
        self._compiled: dict[Path, ProgramFiles] = {}

    def add(self, name: str, switch: Item) -> None:
        """Read the files named by a switch of the topology; add the switch's program, entries and groups."""
        runtime = None
        if "runtime_json" in switch:
            item = switch.child("runtime_json")
            runtime = read_json(self._path(item, switch.text("runtime_json")))
            self._check(runtime)
        files = self.programs[name] = self._program(switch, runtime)
        info = P4Info.parse(files.p4info)
        self.entries[name], self.replication[name] = [], []
        if runtime is None:
            return
        for row in runtime.items("table_entries"):
            try:
                self.entries[name] += node_entries(runtime.path, name, [row.value], info)
            except InstallError as ex:
                row.refuse(ex.message.partition("]: ")[2] or ex.message, ex.remedy)
        self.replication[name] += [_group(row) for row in runtime.items("multicast_group_entries")]
        self.replication[name] += [_session(row) for row in runtime.items("clone_session_entries")]

    def _check(self, runtime: Item) -> None:
        if not isinstance(runtime.value, dict):
            runtime.refuse("the file is no block of keys", 'write {"target": "bmv2", "table_entries": [...]}')
        if unknown := sorted(set(runtime.value) - _KEYS):
            runtime.child(unknown[0]).refuse(
                f"key {unknown[0]!r} is unknown", f"use {', '.join(sorted(_KEYS))}"
            )
        runtime.text("target", "bmv2", choices=("bmv2",))

    def _path(self, item: Item, name: str) -> Path:
        """Return the path of the file `name`, relative to the folder of the exercise.

        A path that leads out of the folder raises FormatError with the line of `item`.
        """
        path = self._folder / name
        try:
            within(self._folder, path)
        except FormatError as ex:
            item.refuse(ex.message, ex.remedy)
        return path

    def _program(self, switch: Item, runtime: Item | None) -> ProgramFiles:
        """Return the program of a switch.

        The program given to `read_exercise` comes first, then the files of a built program, then the source,
        which is compiled.
        """
        if self._given is not None:
            return self._compile(self._given)
        where, key = (switch, "program") if "program" in switch else (runtime, "bmv2_json")
        if where is None or key not in where:
            return self._compile(self._source(switch))
        built = self._path(where.child(key), where.text(key))
        if built.is_file():
            return ProgramFiles(_content(built), _content(self._p4info(where, built, runtime)))
        source = self._folder / f"{built.stem}.p4"
        if not source.is_file():
            where.child(key).refuse(
                f"neither {built} nor {source} exists",
                f"compile the program, or give its source {source.name}",
            )
        return self._compile(source)

    def _p4info(self, where: Item, built: Path, runtime: Item | None) -> Path:
        """Return the path of the p4info of the compiled program `built`; the file may end in .txtpb or .txt.

        The key `p4info` of the runtime file names it; without this key the name follows from the program's.
        """
        path = built.with_name(f"{built.stem}.p4.p4info.txtpb")
        if runtime is not None and "p4info" in runtime and where is runtime:
            path = self._path(runtime.child("p4info"), runtime.text("p4info"))
        choices = [path, *(path.with_suffix(ending) for ending in _ENDINGS)]
        present = next((choice for choice in choices if choice.is_file()), None)
        if present is None:
            where.refuse(
                f"the program has no p4info {path} or {path.with_suffix('.txt').name}",
                "compile with --p4runtime-files",
            )
        return within(self._folder, present)

    def _source(self, switch: Item) -> Path:
        sources = sorted(self._folder.glob("*.p4"))
        if len(sources) != 1:
            switch.refuse(
                f"the switch names no program, and {self._folder} has {len(sources)} sources *.p4",
                "give --p4 FILE.p4",
            )
        return within(self._folder, sources[0])

    def _compile(self, source: Path) -> ProgramFiles:
        if source not in self._compiled:
            self._compiled[source] = own_program(source, source.with_suffix(".p4info.txtpb"))
        return self._compiled[source]


def _content(path: Path) -> bytes:
    with open_file(path) as file:
        return file.read()


def _group(row: Item) -> p4r.PacketReplicationEngineEntry:
    entry = p4r.PacketReplicationEngineEntry()
    group = entry.multicast_group_entry
    group.multicast_group_id = row.integer("multicast_group_id", low=1, high=_MAX_ID)
    group.replicas.extend(_replicas(row))
    return entry


def _session(row: Item) -> p4r.PacketReplicationEngineEntry:
    entry = p4r.PacketReplicationEngineEntry()
    session = entry.clone_session_entry
    session.session_id = row.integer("clone_session_id", low=1, high=_MAX_ID)
    session.packet_length_bytes = row.integer("packet_length_bytes", high=1 << 16, default=0)
    session.replicas.extend(_replicas(row))
    return entry


def _replicas(row: Item) -> list[p4r.Replica]:
    return [
        p4r.Replica(
            egress_port=each.integer("egress_port", high=_MAX_ID),
            instance=each.integer("instance", high=_MAX_ID, default=1),
        )
        for each in row.items("replicas")
    ]
