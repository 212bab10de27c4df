# SPDX-License-Identifier: Apache-2.0
"""Statements about results and headings of tables, for experiments checked by Python code."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["heading", "say"]


def say(checks: Mapping[str, bool]) -> int:
    """Print each statement with yes or NO; return the exit code, 1 if a statement does not hold."""
    for text, holds in checks.items():
        print(f"{text}: {'yes' if holds else 'NO'}")
    return 0 if all(checks.values()) else 1


def heading(*titles: str, words: int = 1) -> str:
    """Return the first two lines of a Markdown table: titles, then alignment.

    The first `words` columns hold text, aligned to the left; the others hold numbers, aligned to the right.
    """
    return f"| {' | '.join(titles)} |\n|{'---|' * words}{'---:|' * (len(titles) - words)}"
