# SPDX-License-Identifier: Apache-2.0
"""Options of the verbs that follow a frame: planned routes, failed links and output."""

from __future__ import annotations

from typing import Annotated

import typer

from railyard.cli.completion import links

__all__ = ["OUTPUT", "ROUTE", "Cut", "Explain", "HopsFile", "Rules", "Scheme", "Strategy"]

ROUTE = "Route"
OUTPUT = "Output"

Scheme = Annotated[
    str,
    typer.Option(
        help="forwarding scheme of the planned routes, or FILE.py:NAME; by default that of the fabric",
        rich_help_panel=ROUTE,
    ),
]
Strategy = Annotated[
    str, typer.Option(help="strategy of the planned routes in the tables", rich_help_panel=ROUTE)
]
Rules = Annotated[
    str, typer.Option(help="turn rules of the planned routes in the tables", rich_help_panel=ROUTE)
]
Cut = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LINK",
        help="a link that is down although the tables still use it; may be repeated",
        autocompletion=links,
        rich_help_panel=ROUTE,
    ),
]
Explain = Annotated[
    bool,
    typer.Option(
        "--explain",
        help="also print changed fields and executed lines of P4 at each hop",
        rich_help_panel=OUTPUT,
    ),
]
HopsFile = Annotated[
    str,
    typer.Option(
        "--json",
        metavar="FILE",
        help="write the hops as JSON to this file; - prints them",
        rich_help_panel=OUTPUT,
    ),
]
