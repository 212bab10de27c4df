# SPDX-License-Identifier: Apache-2.0
"""Registry of the formats of other tools: name, reader, file endings."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from emulation.errors import GraphError
from emulation.traffic.graph.operations import Graph
from harness.errors import FormatError
from harness.formats.chakra.graph import read_chakra
from harness.formats.goal import read_goal
from harness.formats.htsim_traffic import read_matrix
from harness.formats.imported import WHOLE, Imported, Part
from harness.formats.msccl.graph import read_msccl
from harness.formats.msccl.plan_graph import read_plan_files
from harness.formats.ns3_ub import read_case
from harness.formats.simai import read_workload

_MAX_PS = 10**15
_MAX_BYTES = 1 << 44

__all__ = ["FORMATS", "Format", "read_files"]


@final
@dataclass(frozen=True)
class Format:
    """A file format of another tool, with the functions to import it.

    Attributes:
        text: One line of description.
        read: Reader of the files.
        endings: File name endings of the format.
        several: Whether an import may have several files.
        part: Reader of a part of the files; None if the format can only be read in full.
    """

    text: str
    read: Callable[[Sequence[Path]], Imported]
    endings: tuple[str, ...] = ()
    several: bool = False
    part: Callable[[Sequence[Path], Part], Imported] | None = None


FORMATS: Mapping[str, Format] = {
    "chakra": Format("Chakra execution traces, a file a rank", read_chakra, (".et",), several=True),
    "goal": Format("GOAL of LogGOPSim and ATLAHS", read_goal, (".goal",)),
    "htsim": Format("connection matrix of htsim, with its topology", read_matrix, (".cm",), several=True),
    "msccl": Format("MSCCL algorithm, as msccl-tools and RCCL have it", read_msccl, (".xml",)),
    "mscclpp": Format("execution plan of MSCCL++", read_plan_files),
    "ns-3-ub": Format("case folder of ns-3-UB", read_case),
    "simai": Format("workload of SimAI", read_workload, part=read_workload),
}


def _check_times(graph: Graph, path: Path) -> None:
    """Raise FormatError if a time or a size of an operation is above the limits of a run."""
    for operation in graph.operations:
        for what in ("at_ps", "delay_ps", "compute_ps"):
            value = getattr(operation, what)
            if value > _MAX_PS:
                raise FormatError(
                    f"{path}: {what} of operation {operation.id} is {value}, which is above the limit",
                    remedy=f"give {_MAX_PS} picoseconds at most",
                )
        if operation.size > _MAX_BYTES:
            raise FormatError(
                f"{path}: operation {operation.id} has {operation.size} bytes, which is above the limit",
                remedy=f"give {_MAX_BYTES} bytes at most",
            )


def read_files(name: str, paths: Sequence[Path], part: Part = WHOLE) -> Imported:
    """Read files of the format `name`, in full or in part.

    Raises:
        FormatError: The format is unknown or cannot be read in part, or a file is invalid; the message then
            names file and line.
    """
    known = FORMATS.get(name)
    if known is None:
        raise FormatError(f"format {name!r} is unknown", remedy=f"give {', '.join(FORMATS)}")
    if len(paths) != 1 and not known.several:
        raise FormatError(f"format {name} takes one file, got {len(paths)}", remedy="give one file")
    if part != WHOLE and known.part is None:
        parts = ", ".join(other for other, each in FORMATS.items() if each.part is not None)
        raise FormatError(
            f"format {name} cannot be imported in part",
            remedy=f"leave out --scale, --layers and --ranks, which only {parts} takes",
        )
    try:
        imported = known.read(paths) if known.part is None else known.part(paths, part)
        if imported.traffic is not None:
            _check_times(imported.traffic, paths[0])
        return imported
    except GraphError as ex:
        raise FormatError(f"{paths[0]}: {ex.message}", remedy=ex.remedy) from None
