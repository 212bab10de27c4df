"""Start of a fabric: read the compiled programs, start the switches, connect, and fill the tables."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Generic, Protocol, TypeVar, final

from controller.p4runtime.client import P4RuntimeClient, ProgramFiles
from controller.p4runtime.update_cache import UpdateCache
from controller.plan.entry import Entry
from controller.plan.plan import Plan
from controller.plan.rows import NodeEntries
from controller.tables.congestion import Marking, congestion_entries
from emulation.errors import ProgramError
from emulation.testbed import ControlledTestbed
from emulation.traffic.frames.values import NetworkHeader
from harness.files import PROGRAMS
from harness.run.programs.network_header import program_name
from harness.run.programs.own_program import BUILT_IN, OwnPrograms
from topologies import End, Fabric, RailyardError

__all__ = [
    "Booted",
    "InstallProgress",
    "booted",
    "filled",
    "program_name",
    "programs_of",
    "read_program",
    "running",
]


T = TypeVar("T", bound=ControlledTestbed)


class InstallProgress(Protocol):
    """Callback that receives the number of installed table entries and the total number."""

    def __call__(self, done: int, total: int) -> None: ...


@final
@dataclass(frozen=True, slots=True)
class Booted(Generic[T]):
    """A running testbed with filled tables, and the P4Runtime client of its switches.

    `entries` is the number of installed entries, `seconds` the wall-clock time from start to the last entry.
    """

    testbed: T
    client: P4RuntimeClient
    entries: int
    seconds: float


def programs_of(
    fabric: Fabric, header: NetworkHeader = "cna16", *, marks: bool = False, reduces: bool = False
) -> Mapping[str, ProgramFiles]:
    """Return the compiled program of every node, for links with the network header `header`.

    Args:
        fabric: Fabric of the nodes.
        header: Network header of frames on links.
        marks: Take programs that mark frames on congestion.
        reduces: Take programs for switches that combine values of frames.

    Raises:
        ProgramError: A file is missing, or a program has no variant with these features.
    """
    names = {
        (node.program, reduces and node.is_switch): program_name(
            node.program, header, marks=marks, reduces=reduces and node.is_switch
        )
        for node in fabric.nodes
    }
    files = {name: read_program(name) for name in sorted({*names.values()})}
    return {node.name: files[names[node.program, reduces and node.is_switch]] for node in fabric.nodes}


@contextmanager
def booted(
    testbed: T,
    plan: Plan,
    progress: InstallProgress | None = None,
    own: OwnPrograms = BUILT_IN,
    cache: UpdateCache | None = None,
    marking: Marking | None = None,
    *,
    port_marking: Mapping[End, Marking] = MappingProxyType({}),
    reduces: bool = False,
) -> Iterator[Booted[T]]:
    """Start a testbed and fill its tables from a plan; stop the testbed at the end of the context.

    Args:
        testbed: Testbed to start.
        plan: Plan whose entries are installed.
        progress: Receives the number of installed entries.
        own: Programs of the user's own and their further entries, by node.
        cache: Serialised entries of earlier runs with this plan.
        marking: Queue depths at which switches mark frames; None for no marks.
        port_marking: Queue depths of single ports, in place of `marking`.
        reduces: Switches run programs that combine values of frames.
    """
    marks = marking is not None
    programs = {**programs_of(plan.fabric, testbed.network_header, marks=marks, reduces=reduces), **own.files}
    entries: dict[str, Sequence[Entry]] = {
        node: NodeEntries.joined(planned, own.entries[node]) if node in own.entries else planned
        for node, planned in plan.entries.items()
    }
    if marking is not None:
        for node, thresholds in congestion_entries(plan.fabric, marking, port_marking).items():
            if node not in own.files:
                entries[node] = NodeEntries.joined(entries[node], thresholds)
    with filled(testbed, programs, entries, progress, cache) as running:
        yield running


@contextmanager
def filled(
    testbed: T,
    programs: Mapping[str, ProgramFiles],
    entries: Mapping[str, Sequence[Entry]],
    progress: InstallProgress | None = None,
    cache: UpdateCache | None = None,
) -> Iterator[Booted[T]]:
    """Start a testbed, load a program into every node and fill the tables; stop the testbed at the end.

    `programs` and `entries` are by node. `cache` has encoded updates of earlier runs.
    """
    began = time.perf_counter()
    with running(testbed), P4RuntimeClient(testbed.addresses) as client:
        client.on_packet_in = testbed.packet_arrived
        client.connect(testbed.device_ids)
        client.push_pipeline(programs)
        count = client.install(entries, progress, cache)
        yield Booted(testbed, client, count, time.perf_counter() - began)


@contextmanager
def running(testbed: ControlledTestbed) -> Iterator[None]:
    """Start a testbed, and stop it at the end of the context, also after an error."""
    testbed.start()
    try:
        yield
    except RailyardError:
        testbed.check()  # raises a more precise error if a part of the testbed has failed
        raise
    finally:
        testbed.stop()


def read_program(program: str) -> ProgramFiles:
    """Return the compiled program called `program` in p4/build.

    The JSON is stripped of its indentation, which is three quarters of the file and would go to every switch.

    Raises:
        ProgramError: A file is missing.
    """
    paths = [PROGRAMS / f"{program}.json", PROGRAMS / f"{program}.p4info.txtpb"]
    try:
        json, p4info = (path.read_bytes() for path in paths)
        return ProgramFiles(_without_indentation(json), p4info)
    except OSError as ex:
        raise ProgramError(
            f"the compiled program {ex.filename} cannot be read: {ex.strerror}",
            remedy="restore the compiled programs with `git checkout p4/build`",
        ) from None


@lru_cache(maxsize=32)  # every run reads the same few files of up to 650 KB
def _without_indentation(json: bytes) -> bytes:
    return b"".join(map(bytes.strip, json.splitlines()))
