# SPDX-License-Identifier: Apache-2.0
"""Formats of other tools by name."""

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
    """A format: its reader, the endings by which a file is known, and a line of text.

    `part` reads a part of the files; None if the format has no parts.
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
    """Refuse operations whose times or sizes are beyond those of a run."""
    for operation in graph.operations:
        for what in ("at_ps", "delay_ps", "compute_ps"):
            if getattr(operation, what) > _MAX_PS:
                raise FormatError(
                    f"{path}: operation {operation.id}: {what} {getattr(operation, what)}",
                    remedy=f"give {_MAX_PS} picoseconds at most",
                )
        if operation.size > _MAX_BYTES:
            raise FormatError(
                f"{path}: operation {operation.id}: {operation.size} bytes",
                remedy=f"give {_MAX_BYTES} at most",
            )


def read_files(name: str, paths: Sequence[Path], part: Part = WHOLE) -> Imported:
    """Return the content of files of a format, or a part; FormatError names file and line of a fault."""
    known = FORMATS.get(name)
    if known is None:
        raise FormatError(f"no format {name!r}", remedy=f"give {', '.join(FORMATS)}")
    if len(paths) != 1 and not known.several:
        raise FormatError(f"{len(paths)} files of format {name}", remedy="give one")
    if part != WHOLE and known.part is None:
        parts = ", ".join(other for other, each in FORMATS.items() if each.part is not None)
        raise FormatError(
            f"a part of files of format {name}",
            remedy=f"leave out --scale, --layers and --ranks, which {parts} has",
        )
    try:
        imported = known.read(paths) if known.part is None else known.part(paths, part)
        if imported.traffic is not None:
            _check_times(imported.traffic, paths[0])
        return imported
    except GraphError as ex:
        raise FormatError(f"{paths[0]}: {ex.message}", remedy=ex.remedy) from None
