# SPDX-License-Identifier: Apache-2.0
"""railyard import: a scenario from files of another tool."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from railyard.cli.display.screen import out

__all__ = ["EXAMPLES", "import_files"]

EXAMPLES = """
railyard import msccl allreduce-allpairs-8n-ll.xml --out allpairs
railyard run allpairs/scenario.yaml
"""


def import_files(
    name: Annotated[
        str, typer.Argument(metavar="FORMAT", help="chakra, goal, htsim, msccl, mscclpp, ns-3-ub or simai")
    ],
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="a file, or the folder of a case")],
    folder: Annotated[
        Path, typer.Option("--out", help="folder for scenario.yaml, graph.json and fabric.json")
    ],
) -> None:
    """Make a scenario of another tool's traffic, with its fabric and faults where the files have them.

    Notes say what the files hold and Railyard does otherwise.

    Exit code 2 when a file is at fault; the message names file and line.
    """
    from lab.formats.registry import read_files
    from lab.formats.written import write_imported

    imported = read_files(name, files)
    scenario = write_imported(imported, folder, files[0].name)
    console = out()
    fabric = f", {len(imported.fabric.nodes)} nodes" if imported.fabric is not None else ""
    graph = imported.graph
    console.print(
        f"{imported.name}: {len(graph.operations)} operations of {len(graph.members)} members{fabric}",
        markup=False,
    )
    for note in imported.notes:
        console.print(f"  {note}", markup=False)
    console.print(f"written: {scenario}", soft_wrap=True, markup=False)
