# SPDX-License-Identifier: Apache-2.0
"""Results of runs and studies in folders as one table: CSV, JSON or Parquet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from harness.errors import OutputError, ScenarioError
from harness.sweeps.table import HEAD, Record, record_of

__all__ = ["as_csv", "as_json", "as_parquet", "collected", "columns_of"]


def collected(folders: Iterable[Path]) -> list[Record]:
    """Return the records of all results below folders: of studies in runs/, of single runs in result.json.

    Records follow the order of the folders, and in a study the order of its runs; a key counts once.

    Raises:
        ScenarioError: A folder has no results.
    """
    records: dict[str, Record] = {}
    for folder in folders:
        count = 0
        for record in _records(folder):
            records.setdefault(f"{record['run']} {record['variant']}", record)
            count += 1
        if not count:
            raise ScenarioError(
                f"{folder}: no results of runs", remedy="give a folder that `railyard run` or `sweep` wrote"
            )
    return [*records.values()]


def _records(folder: Path) -> Iterator[Record]:
    for path in sorted(folder.rglob("study.json")):
        study = _read(path)
        if study.get("format") != "railyard-study":
            continue
        for key in study["runs"]:
            run = _read(path.parent / "runs" / f"{key}.json")
            if run.get("format") == "railyard-run":
                yield {"scenario": study["scenario"], **record_of(run)}
    for path in sorted(folder.rglob("result.json")):
        result = _read(path)
        if result.get("format") == "railyard-result":
            yield from _of_result(result)


def _of_result(result: dict[str, Any]) -> Iterator[Record]:
    """Yield a record for each variant of a result.json; the hash of its input is the key of the run."""
    for variant in result["faults"]:
        about = [item for item in result["assertions"] if item["metric"].startswith(f"{variant}.")]
        failed = [item for item in about if item.get("judged", True) and not item["passed"]]
        run = {
            "key": result["input"],
            "variant": variant,
            "seed": result["seed"],
            "point": {},
            "cut": None,
            "status": "fails" if failed else "right",
            "trouble": f"not: {failed[0]['name']}" if failed else "",
            "result": result,
        }
        yield {"scenario": result["scenario"], **record_of(run)}


def _read(path: Path) -> dict[str, Any]:
    """Return a JSON document; an empty one if there is none, as for a run that has not ended."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def columns_of(records: Sequence[Record]) -> list[str]:
    """Return all columns: those that describe a run first, then axes and metrics as they appear."""
    head = ["scenario", *HEAD]
    return [*head, *dict.fromkeys(key for record in records for key in record if key not in head)]


def as_csv(records: Sequence[Record]) -> str:
    """Return the table as CSV, with a line of headings; what a run does not have is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns_of(records), restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: _cell(value) for key, value in record.items()} for record in records)
    return text.getvalue()


def as_json(records: Sequence[Record]) -> str:
    """Return the table as a JSON list of objects."""
    return json.dumps(list(records), indent=2) + "\n"


def as_parquet(records: Sequence[Record]) -> bytes:
    """Return the table as a Parquet file.

    Raises:
        OutputError: pyarrow is not installed.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise OutputError(
            "Parquet needs pyarrow, which is not installed", remedy="pip install 'railyard[parquet]'"
        ) from None
    columns = {name: [_cell(record.get(name)) for record in records] for name in columns_of(records)}
    for name, values in columns.items():
        if len({type(value) for value in values if value is not None} - {int, float}) > 1 or (
            any(isinstance(value, str) for value in values)
            and any(isinstance(value, int | float) for value in values)
        ):
            columns[name] = [None if value is None else str(value) for value in values]
    buffer = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), buffer)
    return buffer.getvalue()


def _cell(value: Any) -> Any:
    """Return a value of a column; lists, such as dims, are text."""
    return json.dumps(value) if isinstance(value, list | tuple | dict) else value
