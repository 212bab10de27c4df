# SPDX-License-Identifier: Apache-2.0
"""Known differences between the engine and BMv2, each with its cause; docs/reference/engine.md lists them."""

import re
from collections.abc import Mapping

__all__ = ["explanation"]

_CAUSES: tuple[tuple[str, str, str, str], ...] = (
    (
        "guide/ptf-tests/idletimeout",
        "^AssertionError$",
        "^ok$",
        "the test compares the words of PI's message; the code is the specification's, INVALID_ARGUMENT",
    ),
    (
        "p4_16_samples/(issue2726-bmv2|runtime-index-bmv2|control-hs-index-test)",
        "^ok$",
        "^the switch ended with -(6|11)$",
        "BMv2 aborts or crashes at an index beyond the header stack",
    ),
    (
        "p4_16_samples/issue2283_1-bmv2",
        "^ok$",
        "does not fit within 0 bits",
        "BMv2 takes no value of a key that p4runtime_translation makes a string",
    ),
    (
        r"typedef-in-p4c-ir/typedef-test1|v1model-p4runtime-\w+-types1",
        "^ok$",
        "P4RuntimeWriteException",
        "BMv2 refuses keys that p4runtime_translation makes a byte longer than the program's",
    ),
    (
        "p4_16_samples/issue1062-1-bmv2",
        "^ok$",
        "P4RuntimeWriteException",
        "a key of type error has no width in the p4info, and BMv2 takes no entry of its table",
    ),
    (
        "v1model-(grab-bag|digest-containing-ser-enum|digest-custom-type|p4runtime-most-types2)",
        "^ok$",
        "^AssertionError",
        "PI imports no p4info whose digest has members of type error, enum, struct or a new type",
    ),
    (
        "guide/lpmtester/lpmwidth20bits",
        "^ok$",
        "P4RuntimeWriteException",
        "PI refuses prefixes of a field that is not whole bytes wide",
    ),
)
"""Patterns of the suite's name and of the verdicts of the engine and of BMv2, and the cause."""


def explanation(suite: str, verdicts: Mapping[str, str]) -> str:
    """Return the cause of a difference, or an empty text."""
    for name, engine, bmv2, cause in _CAUSES:
        seen = ((name, suite), (engine, verdicts.get("engine", "")), (bmv2, verdicts.get("BMv2", "")))
        if all(re.search(pattern, text) for pattern, text in seen):
            return cause
    return ""
