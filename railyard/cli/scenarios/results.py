# SPDX-License-Identifier: Apache-2.0
"""railyard results: write the results of runs and studies as one table."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from harness.output import writing
from railyard.cli.options import refuse

__all__ = ["EXAMPLES", "results"]

EXAMPLES = """
railyard results results/mine-sweep
railyard results part1 part2 part3 --format parquet --out all.parquet
railyard results results --format json | jq -r '.[] | select(.status != "right") | .run'
"""


class Format(StrEnum):
    """Values of `--format`: formats of the table of results."""

    csv = "csv"
    json = "json"
    parquet = "parquet"


def results(
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="DIR...", help="folders of runs and studies, searched to any depth"),
    ],
    form: Annotated[
        Format, typer.Option("--format", help="format of the table; parquet needs railyard[parquet]")
    ] = Format.csv,
    target: Annotated[
        Path | None, typer.Option("--out", help="file for the table; else it is printed")
    ] = None,
) -> None:
    """Write the results of runs and studies as one table, with a row for each run and variant.

    Columns: scenario, run (the key in a study), variant, the axes, seed, cut, failed, status, trouble, spare,
    cut_off, and every metric. A run that occurs in several folders has one row.
    """
    from harness.sweeps.export import as_csv, as_json, as_parquet, collected

    records = collected(folders)
    if form is Format.parquet:
        if target is None:
            refuse("--format parquet", "a Parquet table cannot be printed; give --out FILE")
        _write(target, as_parquet(records))
        return
    text = as_csv(records) if form is Format.csv else as_json(records)
    if target is None:
        typer.echo(text, nl=False)
    else:
        _write(target, text.encode())


def _write(path: Path, content: bytes) -> None:
    with writing(path, "give another file with --out"):
        path.write_bytes(content)
