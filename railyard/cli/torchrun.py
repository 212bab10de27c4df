# SPDX-License-Identifier: Apache-2.0
"""railyard torchrun: run a PyTorch script on an emulated fabric."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from railyard.cli.display.screen import complain, out
from railyard.cli.options import Dims, Parameters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness.run.prepare import Prepared
    from railyard.torch.launch import Trained

__all__ = ["EXAMPLES", "torchrun"]

EXAMPLES = """
railyard torchrun --dims 2x4 full-mesh train.py
railyard torchrun --ranks 8 --tflops 100 ub-rack train.py --epochs 3
railyard torchrun --variant cut --tflops 100 --out results/cut scenario.yaml train.py
"""


def torchrun(
    where: Annotated[
        str, typer.Argument(metavar="FABRIC_OR_SCENARIO", help="name of a topology, or a scenario file")
    ],
    script: Annotated[Path, typer.Argument(metavar="SCRIPT", help="Python file that each rank runs")],
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="ARGS...", help="arguments of the script")
    ] = None,
    ranks: Annotated[
        int | None,
        typer.Option(min=1, help="number of ranks; unless given, a rank on each member of the fabric"),
    ] = None,
    dims: Dims = "",
    param: Parameters = None,
    variant: Annotated[
        str, typer.Option(metavar="NAME", help="variant of the scenario; unless given, the first")
    ] = "",
    seed: Annotated[int, typer.Option(min=0, help="seed of the fabric's random choices")] = 1,
    tflops: Annotated[
        float | None,
        typer.Option(
            min=1e-9,
            help="speed of each rank in 10^12 floating-point operations per second: counted operations then "
            "take virtual time, and a run repeats exactly",
        ),
    ] = None,
    measured: Annotated[
        float,
        typer.Option(
            min=0,
            help="virtual seconds for each second of a rank's processor time; with 0, measured time does not "
            "count",
        ),
    ] = 0.0,
    launch_us: Annotated[
        float,
        typer.Option(min=0.001, help="microseconds from the call of a collective to its begin on the fabric"),
    ] = 5.0,
    folder: Annotated[
        Path | None, typer.Option("--out", help="folder for training.json and trace.json")
    ] = None,
) -> None:
    """Run a PyTorch script with a process for each rank; its collectives cross the fabric as frames.

    The script calls `init_process_group("railyard")` and is otherwise unchanged. Time is virtual:
    communication takes the time of the emulated frames, and computation the time that `--tflops` gives
    counted operations or that `railyard.torch.compute` declares. Give options before the fabric; arguments
    after the script are passed to the script.

    Faults of a scenario happen during the run. The loss of an NPU kills the process of its rank, and the
    other ranks get PyTorch's DistBackendError.

    Exit code 0: all ranks end without an error; 1: a rank fails or is lost; 2: an error in the input; 3: an
    error of the machine.
    """
    from railyard.torch.launch import Settings, train

    if tflops is not None and measured:
        raise typer.BadParameter(
            "--tflops counts operations, and --measured measures time; leave one of them out",
            param_hint="--tflops, --measured",
        )
    ready = _prepared(where, dims, param or (), variant)
    settings = Settings(script, arguments or (), ranks, tflops, measured, launch_us)
    trained = train(ready, settings, seed)
    if folder is not None:
        from railyard.torch.timeline import write

        write(folder, trained)
    _print(trained)
    for rank in trained.failed:
        complain(rank.outcome)
    if trained.failed:
        raise typer.Exit(1)


def _prepared(where: str, dims: str, param: Sequence[str], variant: str) -> Prepared:
    """Return a prepared variant: of a scenario file, or with default settings on a fabric."""
    from harness.run.prepare import prepare
    from harness.scenario.document import Document
    from harness.scenario.library import file_of
    from harness.scenario.loader import load, read
    from railyard.api.scenarios import only

    if Path(where).suffix in (".yaml", ".yml"):
        if dims or param:
            raise typer.BadParameter(
                "a scenario file has its own topology; leave these options out", param_hint="--dims, --param"
            )
        scenario, document = load(file_of(Path(where)))
        name = variant or scenario.variants[0].name
        return prepare(only(scenario, (name,)), document)[0]
    if variant:
        raise typer.BadParameter(
            "a topology has no variants; leave the option out, or give a scenario file",
            param_hint="--variant",
        )
    from railyard.cli.options import parameters_of

    topology = {"name": where, **parameters_of(where, dims, param)}
    document = Document.of_values({"name": "torchrun", "topology": topology})
    scenario, document = read(document)
    return prepare(scenario, document)[0]


def _print(trained: Trained) -> None:
    from railyard.torch.timeline import summary

    for line in summary(trained):
        out().print(line, markup=False, highlight=False)
