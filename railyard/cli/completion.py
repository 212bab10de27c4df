# SPDX-License-Identifier: Apache-2.0
"""Completion of arguments and options by a shell: scenarios, variants, nodes, links.

A function returns the words that begin with the text typed so far. Names of nodes, links and variants come
from the fabric or the file on the same command line; without one, or if it has an error, there are none.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from topologies.errors import RailyardError

if TYPE_CHECKING:
    from harness.scenario.schema import Scenario
    from topologies import Fabric

__all__ = ["fail_kinds", "links", "nodes", "scenarios", "variants"]

# Suffixes of files that `railyard run` takes.
_SUFFIXES = (".yaml", ".yml", ".railyard")


def scenarios(incomplete: str) -> list[str]:
    """Return scenario files, folders, and the names of scenarios that come with Railyard."""
    from harness.scenario.library import named_files

    folder, slash, _ = incomplete.rpartition("/")
    paths = [f"{folder}{slash}{path.name}" + "/" * path.is_dir() for path in _paths(folder + slash)]
    return [*_beginning(paths, incomplete), *([] if slash else _beginning(named_files(), incomplete))]


def variants(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the names of the variants of the scenario on the command line."""
    scenario = _scenario(ctx)
    return [] if scenario is None else _beginning((item.name for item in scenario.variants), incomplete)


def nodes(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the names of the nodes of the fabric on the command line."""
    fabric = _fabric(ctx)
    return [] if fabric is None else _beginning((node.name for node in fabric.nodes), incomplete)


def links(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the names of all links of the fabric or scenario that the command line names."""
    fabric = _fabric(ctx)
    return [] if fabric is None else _beginning((link.name for link in fabric.links), incomplete)


def fail_kinds(incomplete: str) -> list[str]:
    """Return the values of `--fail-each`."""
    return _beginning(("link", "switch", "npu", "pair:"), incomplete)


def _beginning(words: Iterable[str], incomplete: str) -> list[str]:
    return [word for word in words if word.startswith(incomplete)]


def _paths(folder: str) -> list[Path]:
    """Return the folders, and the files that a scenario may be in, of a folder; hidden files are left out."""
    with suppress(OSError):
        return [
            path
            for path in sorted(Path(folder or ".").iterdir())
            if not path.name.startswith(".") and (path.is_dir() or path.suffix in _SUFFIXES)
        ]
    return []


def _scenario(ctx: typer.Context) -> Scenario | None:
    from harness.scenario.document import Document
    from harness.scenario.library import file_of
    from harness.scenario.loader import read

    file = _argument(ctx, "files", "file")
    with suppress(RailyardError, OSError):
        return read(Document(file_of(Path(file))))[0] if file else None
    return None


def _argument(ctx: typer.Context, *names: str) -> str:
    """Return the first argument of the verb; empty without any.

    While an option still lacks its value, click leaves arguments in `ctx.args` instead of `ctx.params`.
    """
    given = next((value for name in names if (value := ctx.params.get(name))), ctx.args)
    return str(given[0] if given else "") if isinstance(given, list | tuple) else str(given)


def _fabric(ctx: typer.Context) -> Fabric | None:
    from railyard.cli.options import fabric_of

    name = _argument(ctx, "topology") if any(item.name == "topology" for item in ctx.command.params) else ""
    with suppress(RailyardError, OSError, typer.BadParameter):
        if name:
            return fabric_of(name, ctx.params.get("dims") or "", ctx.params.get("param") or ())
        scenario = _scenario(ctx)
        return None if scenario is None else scenario.topology.build()
    return None
