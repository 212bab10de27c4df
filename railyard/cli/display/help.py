# SPDX-License-Identifier: Apache-2.0
"""Help texts of the verbs on the terminal, and the manual page made from them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer
from rich.markup import escape
from typer.core import TyperCommand, TyperGroup

__all__ = ["Command", "Group", "man_page"]


class Command(TyperCommand):
    """A verb of the command line; its help shows no type for flags and prints brackets unchanged."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters in the form for help and manual page."""
        return _shown(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words of a command line; errors are shown without pydantic's prefix `Value error, `."""
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as ex:
            ex.message = ex.message.removeprefix("Value error, ")
            raise


class Group(TyperGroup):
    """A group of verbs; its help shows parameters as the help of a `Command` does."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters in the form for help and manual page."""
        return _shown(super().get_params(ctx))


def _shown(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        if getattr(parameter, "is_flag", False) and parameter.metavar is None:
            parameter.metavar = ""
        text = getattr(parameter, "help", None)
        if text and "\\[" not in text:
            parameter.help = escape(text)
    return parameters


def man_page(root: Any, version: str) -> str:
    """Return the manual page of a command and all its verbs, in the macros of man(7)."""
    lines = [
        f'.TH RAILYARD 1 "" "railyard {_plain(version)}" "User Commands"',
        ".SH NAME",
        r"railyard \- emulate the networks of AI clusters, packet by packet",
        ".SH SYNOPSIS",
        r".B railyard",
        r".I VERB",
        "[OPTIONS] ...",
        ".SH DESCRIPTION",
        _plain(root.help or ""),
        ".SH VERBS",
    ]
    for name, verb in root.commands.items():
        lines += _verb(f"railyard {name}", verb)
    lines += [
        ".SH EXIT STATUS",
        "0 all assertions hold, 1 an assertion fails, 2 an error in the input,",
        "3 an error of the machine, 130 Ctrl\\-C, 143 SIGTERM.",
    ]
    return "\n".join(lines) + "\n"


def _verb(name: str, verb: Any) -> Iterator[str]:
    """Yield the section of a verb: its synopsis, its help, its options and its examples."""
    with verb.make_context(name, [], resilient_parsing=True) as context:
        parameters = [p for p in verb.get_params(context) if p.name != "help"]
        usage = " ".join(verb.collect_usage_pieces(context))
        yield f".SS {_plain(name)} {_plain(usage)}"
        for paragraph in re.split(r"\n\s*\n", verb.help or ""):
            yield from (".PP", _plain(" ".join(paragraph.split())))
        for parameter in parameters:
            if parameter.param_type_name != "option":
                continue
            words = ", ".join((*parameter.opts, *parameter.secondary_opts))
            value = parameter.display_type_rich(ctx=context)
            yield from (".TP", f".B {_plain(words)}" + (f" {_plain(value)}" if value else ""))
            yield _plain(" ".join((parameter.help or "").replace("\\[", "[").split()))
    if examples := (verb.epilog or "").removeprefix("\b\n"):
        yield from (".PP", ".nf", *map(_plain, examples.splitlines()), ".fi")
    for own, inner in getattr(verb, "commands", {}).items():
        yield from _verb(f"{name} {own}", inner)


def _plain(text: str) -> str:
    """Return text escaped for troff, to be printed unchanged."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq")
    return rf"\&{escaped}" if escaped.startswith((".", "'")) else escaped
