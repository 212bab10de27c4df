# SPDX-License-Identifier: Apache-2.0
"""Export of the results in folders of runs and studies, as one table: CSV, JSON or Parquet."""

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
    """Return the records of all results below some folders.

    Results of studies are in runs/KEY.json, results of single runs in result.json. Records follow the order
    of the folders, and in a study the order of its runs. A run that occurs several times gives one record.

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
                f"{folder} contains no results of runs",
                remedy="give a folder that `railyard run` or `railyard sweep` wrote",
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
    """Yield a record for each variant of a result.json; the key of the run is the hash of the input."""
    for variant in result["faults"]:
        about = [item for item in result["assertions"] if item["metric"].startswith(f"{variant}.")]
        failed = [item for item in about if item.get("judged", True) and not item["passed"]]
        wrong_data = any(item["metric"].endswith(".correct_npus") for item in failed)
        stopped = wrong_data and variant in result.get("cut_off", {})
        run = {
            "key": result["input"],
            "variant": variant,
            "seed": result["seed"],
            "point": {},
            "cut": None,
            "status": "stopped" if stopped else "fails" if failed else "right",
            "trouble": f"not: {failed[0]['name']}" if failed else "",
            "result": result,
        }
        yield {"scenario": result["scenario"], **record_of(run)}


def _read(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file; an empty object if the file is missing or unreadable."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def columns_of(records: Sequence[Record]) -> list[str]:
    """Return the names of all columns: first columns that describe a run, then axes and metrics."""
    head = ["scenario", *HEAD]
    return [*head, *dict.fromkeys(key for record in records for key in record if key not in head)]


def as_csv(records: Sequence[Record]) -> str:
    """Return the table as CSV with a header line; a value that a run does not have is empty."""
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
            "Parquet needs pyarrow, which is not installed",
            remedy="install it with `pip install 'railyard[parquet]'`",
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
    """Return a value in the form of a table cell; lists and objects become JSON text."""
    return json.dumps(value) if isinstance(value, list | tuple | dict) else value
