# SPDX-License-Identifier: Apache-2.0
"""Write results as JUnit XML for CI servers: a test suite per scenario, a test case per assertion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final
from xml.etree import ElementTree

from harness.report.results import Outcome, Result

__all__ = ["Failed", "add_suite", "text_of", "to_junit"]

_WHY = "the metric depends on times that are not trustworthy, or on an unreadable register"


@final
@dataclass(frozen=True, slots=True)
class Failed:
    """A scenario that did not run, with the message of the error."""

    scenario: str
    error: str


def to_junit(results: Sequence[Result | Failed]) -> str:
    """Return the text of a JUnit file; assertions that are not judged count as skipped."""
    root = ElementTree.Element("testsuites", name="railyard")
    for result in results:
        if isinstance(result, Failed):
            _add_failed(root, result)
        else:
            _add_suite(root, result)
    return text_of(root)


def text_of(root: ElementTree.Element) -> str:
    """Return the text of an XML file, indented."""
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def add_suite(root: ElementTree.Element, name: str, counts: Mapping[str, int]) -> ElementTree.Element:
    """Add a suite with its numbers of tests, failures, errors and skipped tests; return the suite."""
    numbers = {key: str(count) for key, count in counts.items()}
    return ElementTree.SubElement(root, "testsuite", {"name": name, **numbers})


def _add_suite(root: ElementTree.Element, result: Result) -> None:
    counts = {
        "tests": len(result.assertions),
        "failures": sum(item.verdict == "fails" for item in result.assertions),
        "errors": 0,
        "skipped": result.unjudged,
    }
    suite = add_suite(root, result.scenario, counts)
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in (("seed", result.seed), ("testbed", result.testbed), ("input", result.input)):
        ElementTree.SubElement(properties, "property", name=name, value=str(value))
    for item in result.assertions:
        _add_case(suite, result.scenario, item)


def _add_case(suite: ElementTree.Element, scenario: str, item: Outcome) -> None:
    case = ElementTree.SubElement(suite, "testcase", classname=scenario, name=item.name)
    words = f"{item.metric} is {item.shown_value}, required: {item.op} {item.shown_limit}"
    if item.verdict == "fails":
        ElementTree.SubElement(case, "failure", message=words, type="assertion")
    elif item.verdict == "not judged":
        ElementTree.SubElement(case, "skipped", message=f"not judged: {_WHY}; {words}")


def _add_failed(root: ElementTree.Element, failed: Failed) -> None:
    suite = add_suite(root, failed.scenario, {"tests": 1, "failures": 0, "errors": 1, "skipped": 0})
    case = ElementTree.SubElement(suite, "testcase", classname=failed.scenario, name="the scenario runs")
    ElementTree.SubElement(case, "error", message=failed.error, type="error")
