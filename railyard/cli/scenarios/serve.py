# SPDX-License-Identifier: Apache-2.0
"""railyard serve: a scenario that a page in a browser controls, or the replay of a recording."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from railyard.cli.completion import scenarios, variants
from railyard.cli.display.screen import say, tell
from railyard.cli.options import Seed, page_server
from topologies.errors import RailyardError

if TYPE_CHECKING:
    from railyard.web.live import Live
    from railyard.web.session import Session

__all__ = ["EXAMPLES", "serve"]

# Endings of files that are recordings or bundles; the constants are in modules that are slow to import.
_RECORDED = (".recording", ".railyard")

EXAMPLES = """
railyard serve first-train
railyard serve experiments/01_first_train/scenario.yaml
railyard serve experiments/01_first_train/scenario.yaml --variant cut --read-only
railyard serve results/first-train
railyard serve first-train.railyard --port 0
railyard serve results/first-train --html first-train.html
"""


def serve(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE|RESULT|BUNDLE",
            help="scenario file or name, recording, folder of results with a recording, or bundle",
            autocompletion=scenarios,
        ),
    ],
    variant: Annotated[
        list[str] | None,
        typer.Option(help="variant to run or to replay; may be repeated; else all", autocompletion=variants),
    ] = None,
    seed: Seed = None,
    host: Annotated[
        str | None,
        typer.Option(
            help="address to listen on; unless given, RAILYARD_PAGE_HOST, else 127.0.0.1, this machine only"
        ),
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="port to listen on; 0 takes any free port")
    ] = 8642,
    read_only: Annotated[
        bool,
        typer.Option(
            "--read-only",
            help="of a run, print two addresses: read-only pages for a class, and a page for the presenter",
        ),
    ] = False,
    page: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="FILE",
            help="write the replay as an HTML file that opens without a server, and start no server",
        ),
    ] = None,
) -> None:
    """Show a running or recorded fabric in a browser; open the printed address, and end with Ctrl-C.

    A scenario begins paused: on the page you start and pause it, and apply faults by hand; no files are
    written. A recording (`railyard run --record`) is replayed, also from a folder of results or a bundle that
    contains it.
    """
    if page is not None:
        _write_page(file, page, variant or [], seed, read_only=read_only)
        return
    with suppress(KeyboardInterrupt):
        _serve(file, variant or [], seed, host, port, read_only=read_only)


def _serve(
    file: Path, variants: list[str], seed: int | None, host: str | None, port: int, *, read_only: bool
) -> None:
    # Print this before the slow imports, and before planning.
    tell(f"{file}: {'reading' if file.is_dir() or file.suffix in _RECORDED else 'planning'}")
    serving = page_server()
    from harness.scenario.library import file_of
    from railyard.web.live import Live, opened

    with opened(file_of(file), variants, seed, read_only=read_only) as source:
        live = source if isinstance(source, Live) else None
        session = source.session if isinstance(source, Live) else source
        with serving(session, host, port) as address:
            _welcome(address, session)
            while True:
                if live is not None:
                    _run(live)
                while not session.wait(3600):
                    pass


def _write_page(file: Path, target: Path, variants: list[str], seed: int | None, *, read_only: bool) -> None:
    """Write the replay of a recording, of results or of a bundle as one HTML file."""
    page_server()  # raises an error with a remedy if packages of the page are missing
    from harness.errors import RecordingError
    from harness.output import write_file
    from harness.scenario.library import file_of
    from railyard.web.live import Live, opened
    from railyard.web.static_page import static_page

    with opened(file_of(file), variants, seed, read_only=read_only) as source:
        if isinstance(source, Live):
            raise RecordingError(
                f"{file} has no recording to replay",
                remedy="run the scenario with --record, and give the folder of its results",
            )
        text = static_page(source.records, source.state["words"])
    write_file(target, text)
    say(str(target))


def _run(live: Live) -> None:
    """Run the scenario once; an error ends the run, is printed and shown, and the page may run again."""
    try:
        live.run()
    except RailyardError as ex:
        live.session.end(str(ex))
        say(str(ex))


def _welcome(address: str, session: Session) -> None:
    from railyard.web.server import presenters

    words = "a recording" if session.mode == "replay" else "paused at the beginning"
    lines = [address]
    if session.presenter:
        lines = [f"to look:    {address}", f"to present: {presenters(address, session)}"]
    say("\n".join([*lines, f"{words}; Ctrl-C ends it"]))
