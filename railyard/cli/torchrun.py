# SPDX-License-Identifier: Apache-2.0
"""railyard torchrun: run a PyTorch script on an emulated fabric."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from railyard.cli.display.screen import complain, say
from railyard.cli.options import Dims, Parameters, Recorded, page_server, refuse, topology_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from harness.recording.records import Sink
    from harness.run.prepare import Prepared
    from harness.scenario.schema import Scenario
    from railyard.torch.launch import Trained
    from railyard.web.session import Session

__all__ = ["EXAMPLES", "torchrun"]

EXAMPLES = """
railyard torchrun --dims 2x4 full-mesh train.py
railyard torchrun --ranks 8 --tflops 100 ub-rack train.py --epochs 3
railyard torchrun --variant cut --tflops 100 --out results/cut --record scenario.yaml train.py
railyard torchrun --serve --tflops 100 ub-rack train.py
"""


def torchrun(
    where: Annotated[
        str,
        typer.Argument(
            metavar="FABRIC_OR_SCENARIO",
            help="name of a topology, FILE.py:NAME, a file *.json or *.graphml; or a scenario file",
        ),
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
        Path | None, typer.Option("--out", help="folder for training.json, trace.json and report.html")
    ] = None,
    max_restarts: Annotated[
        int,
        typer.Option(
            min=0,
            help="failures after which all ranks start again, as with torchrun; the script goes on from its "
            "own checkpoint",
        ),
    ] = 0,
    min_ranks: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="with --max-restarts: fewest ranks that start again while an NPU is down; unless given, all "
            "wait for it to come back",
        ),
    ] = None,
    record: Recorded = False,
    live: Annotated[
        bool, typer.Option("--serve", help="show the fabric in a browser while the script runs, until Ctrl-C")
    ] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="port of --serve; 0: any free one")] = 8642,
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
    from harness.recording.file import RECORDING, RecordingWriter
    from harness.recording.history import History
    from railyard.torch.launch import Settings, train
    from railyard.torch.recording import TrainingRecorder
    from railyard.torch.timeline import write

    if tflops is not None and measured:
        refuse(
            "--tflops, --measured",
            "--tflops counts operations, and --measured measures time; leave one of them out",
        )
    if record and folder is None:
        refuse("--record", "a recording needs a folder; give --out as well")
    scenario, ready = _prepared(where, dims, param or (), variant)
    settings = Settings(script, arguments or (), ranks, tflops, measured, launch_us, max_restarts, min_ranks)
    with ExitStack() as stack:
        sinks: list[Sink] = []
        session = stack.enter_context(_page(port)) if live else None
        history = History() if session is None else session.history
        if folder is not None or session is not None:
            sinks.append(history)
        if record and folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            sinks.append(stack.enter_context(RecordingWriter(folder / RECORDING)))
        recorder = TrainingRecorder(sinks, scenario, seed) if sinks else None
        trained = train(ready, settings, seed, recorder)
        if folder is not None:
            faults = [(fault.at_ps / 10**6, fault.text) for fault in ready.faults]
            title = f"{scenario.title or scenario.name}: {ready.variant.label}"
            write(folder, trained, title, faults, history.records)
        _print(trained)
        for rank in trained.failed:
            complain(rank.outcome)
        if session is not None:
            session.end("")
            with suppress(KeyboardInterrupt):
                while not session.wait(3600):
                    pass
    if trained.failed:
        raise typer.Exit(1)


@contextmanager
def _page(port: int) -> Iterator[Session]:
    """Serve a page with the records of a run, print its address, and yield its session."""
    serving = page_server()
    from railyard.web.session import Session

    session = Session("replay")
    with serving(session, None, port) as address:
        say(f"{address}\nCtrl-C after the run ends it")
        yield session


def _prepared(where: str, dims: str, param: Sequence[str], variant: str) -> tuple[Scenario, Prepared]:
    """Return a scenario and its prepared variant: of a file, or with default settings on a fabric."""
    from harness.run.prepare import prepare
    from harness.scenario.document import Document
    from harness.scenario.library import file_of
    from harness.scenario.loader import load, read
    from railyard.api.scenarios import only

    if Path(where).suffix in (".yaml", ".yml"):
        if dims or param:
            refuse("--dims, --param", "a scenario file has its own topology; leave these options out")
        scenario, document = load(file_of(Path(where)))
        name = variant or scenario.variants[0].name
        return scenario, prepare(only(scenario, (name,)), document)[0]
    if variant:
        refuse("--variant", "a topology has no variants; leave the option out, or give a scenario file")

    topology = topology_of(where, dims, param)
    document = Document.of_values({"name": "torchrun", "topology": topology})
    scenario, document = read(document)
    return scenario, prepare(scenario, document)[0]


def _print(trained: Trained) -> None:
    from railyard.torch.timeline import summary

    say(*summary(trained))
