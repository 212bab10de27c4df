# SPDX-License-Identifier: Apache-2.0
"""JUnit XML of a study: a test case for each run."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from harness.report.junit import add_suite, text_of
from harness.sweeps.table import Record, accepted, name_of

__all__ = ["study_junit"]


def study_junit(
    scenario: str, records: Sequence[Record], axes: Sequence[str], *, allow_stopped: bool = False
) -> str:
    """Return JUnit XML with a test case for each run of a study.

    A run fails if its status would fail the study, as in `passed`; an impossible run is an error, and a run
    that ended before its fault is skipped.
    """
    good = accepted(allow_stopped=allow_stopped)
    counts = {
        "tests": len(records),
        "failures": sum(record["status"] not in {*good, "error"} for record in records),
        "errors": sum(record["status"] == "error" for record in records),
        "skipped": sum(record["status"] == "over" for record in records),
    }
    root = ElementTree.Element("testsuites", name="railyard")
    suite = add_suite(root, scenario, counts)
    for record in records:
        case = ElementTree.SubElement(suite, "testcase", classname=scenario, name=name_of(record, axes))
        status = record["status"]
        words = f"{status}: {record['trouble']}" if record["trouble"] else status
        if status == "over":
            ElementTree.SubElement(case, "skipped", message=words)
        elif status not in good:
            tag = "error" if status == "error" else "failure"
            ElementTree.SubElement(case, tag, message=words, type=status)
    return text_of(root)
