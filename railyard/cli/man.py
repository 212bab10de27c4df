# SPDX-License-Identifier: Apache-2.0
"""railyard man: print the manual page of all verbs."""

from __future__ import annotations

import typer

__all__ = ["EXAMPLES", "man"]

EXAMPLES = """
railyard man | man -l -
railyard man > ~/.local/share/man/man1/railyard.1
"""


def man(context: typer.Context) -> None:
    """Print the manual page of all verbs and options."""
    from harness.version import railyard_version
    from railyard.cli.display.help import man_page

    typer.echo(man_page(context.find_root().command, railyard_version()), nl=False)
