# SPDX-License-Identifier: Apache-2.0
"""The command `railyard`, with a file for each subcommand, here called a verb.

A verb imports what it needs when it is called, so that `--help` is fast.

options     options that several verbs share
completion  completion of names by a shell
display/    tables, progress, summaries, frames and journeys on the terminal
files/      railyard bundle, export, import
fabrics/    railyard show, scan, up, clean
frames/     railyard craft, follow, send, dissector
papers/     railyard experiments, model
scenarios/  railyard run, check, serve, sweep, results; counters of links as CSV
list, lab, man, torchrun  verbs of these names

Exit codes: 0 all assertions hold, 1 an assertion fails, 2 an error in the input, 3 an error of the machine
(disk, port, rights, memory, a missing program), 130 Ctrl-C, 143 SIGTERM.
"""

import atexit
import errno
import gc
import inspect
import os
import signal
import sys
from collections.abc import Callable, Sequence
from copy import copy
from functools import cache
from typing import Annotated

import typer
from typer.main import get_command

from railyard.cli import lab, man, torchrun
from railyard.cli import list as list_verb
from railyard.cli.display.help import Command, Group
from railyard.cli.display.screen import MACHINE, complain, exit_code, say
from railyard.cli.fabrics import clean, scan, show, up
from railyard.cli.files import bundle, export, import_
from railyard.cli.frames import craft, dissector, follow, send
from railyard.cli.papers import experiments, model
from railyard.cli.scenarios import check, results, run, serve, sweep
from topologies.errors import RailyardError

__all__ = ["app", "main"]

app = typer.Typer(
    help="Emulate the networks of AI clusters, packet by packet, on P4 switches.",
    epilog="`railyard VERB --help` shows the options of a verb, and examples.",
    no_args_is_help=True,
    cls=Group,
    pretty_exceptions_enable=False,
)


# Errors of the operating system that mean a lack of disk space, memory or file descriptors.
_EXHAUSTED = (errno.ENOSPC, errno.EDQUOT, errno.ENOMEM, errno.EMFILE, errno.ENFILE)

_VERBS = {
    "run": (run.run, run.EXAMPLES),
    "serve": (serve.serve, serve.EXAMPLES),
    "check": (check.check, check.EXAMPLES),
    "list": (list_verb.list_names, list_verb.EXAMPLES),
    "show": (show.show, show.EXAMPLES),
    "scan": (scan.scan, scan.EXAMPLES),
    "craft": (craft.craft, craft.EXAMPLES),
    "follow": (follow.follow, follow.EXAMPLES),
    "send": (send.send, send.EXAMPLES),
    "up": (up.up, up.EXAMPLES),
    "torchrun": (torchrun.torchrun, torchrun.EXAMPLES),
    "sweep": (sweep.sweep, sweep.EXAMPLES),
    "results": (results.results, results.EXAMPLES),
    "export": (export.export, export.EXAMPLES),
    "import": (import_.import_files, import_.EXAMPLES),
    "bundle": (bundle.bundle, bundle.EXAMPLES),
    "experiments": (experiments.experiments, experiments.EXAMPLES),
    "model": (model.model, model.EXAMPLES),
    "dissector": (dissector.dissector, dissector.EXAMPLES),
    "clean": (clean.clean, clean.EXAMPLES),
    "man": (man.man, man.EXAMPLES),
}


def _help(verb: Callable[..., object]) -> str:
    """Return the docstring of a verb with a single line for each paragraph, so that the terminal wraps it."""
    paragraphs = (inspect.getdoc(verb) or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


for _name, (_verb, _examples) in _VERBS.items():
    # Options after the script of `torchrun` are options of the script.
    _words = {"allow_interspersed_args": _verb is not torchrun.torchrun}
    app.command(
        _name,
        help=_help(_verb),
        epilog=f"\b\nExamples:\n{_examples.strip()}",
        cls=Command,
        context_settings=_words,
    )(_verb)


app.add_typer(lab.app, name="lab")


# Surplus of allocations over deallocations that triggers the cyclic garbage collector; Python's default is
# 700. Imports, plans and figures allocate many objects but leave hardly any garbage in cycles.
_YOUNGEST = 500_000

# Number of collections of young objects between two collections of older objects; Python's default is 10.
_MIDDLE = 100


def _verb_of(words: Sequence[str]) -> str:
    """Return the verb with which a command line begins; '' if the command needs all its verbs."""
    known = words and words[0] in {*_VERBS, "lab"} - {"man"} and "_RAILYARD_COMPLETE" not in os.environ
    return words[0] if known else ""


@cache
def _command(verb: str) -> Callable[[], object]:
    """Return the command with a single verb, or with all verbs for ''.

    Typer evaluates the annotations of every verb that it is given, which takes a third of the start.
    """
    part = copy(app)
    if verb:
        part.registered_commands = [info for info in app.registered_commands if info.name == verb]
        part.registered_groups = [info for info in app.registered_groups if info.name == verb]
    return get_command(part)


def main() -> None:
    """Run the command; an error becomes a message on standard error and exit code 2 or 3."""
    gc.set_threshold(_YOUNGEST, _MIDDLE)
    # Exclude all objects from the two garbage collections that Python makes at its exit.
    atexit.register(gc.freeze)
    # Without a handler, SIGTERM would end this process but not the processes that it started.
    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        _command(_verb_of(sys.argv[1:]))()
    except RailyardError as ex:
        complain(str(ex))
        sys.exit(exit_code(ex))
    except MemoryError:
        complain("this machine has no memory left; use a smaller fabric or array, see `railyard check`")
        sys.exit(MACHINE)
    except OSError as ex:
        if ex.errno not in _EXHAUSTED:
            raise
        complain(f"{ex.filename or 'this machine'}: {ex.strerror}; make room and call again")
        sys.exit(MACHINE)
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        signal.signal(signal.SIGTERM, before)


def _print_version(asked: bool) -> None:
    from harness.version import UNKNOWN, railyard_version

    if asked:
        number = railyard_version()
        words = (
            "railyard, from a source tree that is not installed"
            if number == UNKNOWN
            else f"railyard {number}"
        )
        say(words)
        raise typer.Exit


@app.callback()
def _railyard(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="print the version")
    ] = False,
) -> None: ...
