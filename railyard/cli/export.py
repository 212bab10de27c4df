# SPDX-License-Identifier: Apache-2.0
"""railyard export: a fabric or a collective as a file of another tool."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from railyard.cli.display.screen import out
from railyard.cli.options import TOPOLOGY

__all__ = ["EXAMPLES", "export"]

EXAMPLES = """
railyard export graphml ub-rack --out rack.graphml
railyard export dot full-mesh --dims 2x4 --out mesh.dot
railyard export msccl experiments/02_real_time/scenario.yaml --out allreduce.xml
"""


def export(
    name: Annotated[str, typer.Argument(metavar="FORMAT", help="graphml, dot, containerlab or msccl")],
    what: Annotated[str, typer.Argument(help=f"{TOPOLOGY}; for msccl a scenario file")],
    target: Annotated[Path, typer.Option("--out", help="file to write")],
    dims: Annotated[str, typer.Option(help="nodes in each dimension, as 4x4")] = "",
    param: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="a parameter of the topology; may be repeated"),
    ] = None,
    variant: Annotated[str, typer.Option(help="variant of the scenario; unless given, the first")] = "",
) -> None:
    """Write a fabric as GraphML, DOT or containerlab's YAML, or an AllReduce of a scenario as MSCCL's XML."""
    from lab.errors import FormatError, OutputError
    from railyard.cli.options import fabric_of
    from topologies.sources.exports import EXPORTS

    if name == "msccl":
        text = _msccl(Path(what), variant)
    elif name in EXPORTS:
        text = EXPORTS[name](fabric_of(what, dims, param or ()))
    else:
        raise FormatError(f"no format {name!r}", remedy=f"give {', '.join(EXPORTS)} or msccl")
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as ex:
        raise OutputError(f"{target}: {ex.strerror}", remedy="name a file that can be written") from None
    out().print(f"written: {target}", soft_wrap=True, markup=False)


def _msccl(path: Path, variant: str) -> str:
    """Return the XML of a scenario's AllReduce."""
    from lab.errors import FormatError
    from lab.formats.msccl.write import to_msccl
    from lab.run.prepare import prepare
    from lab.scenario.loader import load

    scenario, document = load(path)
    names = [each.name for each in scenario.variants]
    if variant and variant not in names:
        raise FormatError(f"{path}: no variant {variant!r}", remedy=f"give {', '.join(names)}")
    ready = next(each for each in prepare(scenario, document) if each.variant.name == (variant or names[0]))
    job = ready.jobs[0]
    if job.collective.kind != "allreduce":
        raise FormatError(f"{path}: {job.collective.kind} is no AllReduce", remedy="name another variant")
    return to_msccl(job.sliced.schedule, f"{scenario.name}-{ready.variant.name}")
