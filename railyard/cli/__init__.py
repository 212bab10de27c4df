"""`railyard`: one file a verb. A verb imports what it needs when it is called, so `--help` comes at once.

Exit codes: 0 all assertions hold, 1 one fails, 2 the input or the machine is at fault, 130 Ctrl-C,
143 SIGTERM.
"""

import signal
import sys

import typer

from railyard.cli.check import check
from railyard.cli.clean import clean
from railyard.cli.craft import craft
from railyard.cli.dissector import dissector
from railyard.cli.experiments import experiments
from railyard.cli.list import list_names
from railyard.cli.model import model
from railyard.cli.run import run
from railyard.cli.screen import complain
from railyard.cli.show import show
from railyard.cli.sweep import sweep
from railyard.cli.up import up
from topologies.errors import RailyardError

__all__ = ["app", "main"]

app = typer.Typer(
    help="Fabrics of P4 switches for AI clusters, emulated packet by packet.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("run")(run)
app.command("check")(check)
app.command("clean")(clean)
app.command("show")(show)
app.command("up")(up)
app.command("list")(list_names)
app.command("sweep")(sweep)
app.command("experiments")(experiments)
app.command("model")(model)
app.command("craft")(craft)
app.command("dissector")(dissector)


def main() -> None:
    # Left alone, SIGTERM would end the process with all that it started still there.
    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        app()
    except RailyardError as ex:
        complain(str(ex))
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        signal.signal(signal.SIGTERM, before)
