# SPDX-License-Identifier: Apache-2.0
"""Rules of the engine's headers: typed numbers (emulation/engine/units.h), at most 40 methods in a class."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ENGINE = Path(__file__).parents[3] / "emulation" / "engine"
HEADERS = sorted(ENGINE.rglob("*.h"))
MOST_METHODS = 40

INTEGER = r"(?:int|unsigned|long|(?:std::)?(?:u?int(?:8|16|32|64)_t|size_t))"
TYPED = r"(?:vl|lane|port|priority|direction|(?:cpu|ingress|egress|from|to)_port)"
BARE = re.compile(rf"\b{INTEGER}\s+(?:\w+(?:\s*=\s*\w+)?,\s*)*{TYPED}_?\b")


def code(text: str) -> str:
    """Return C++ without comments, the contents of strings and characters, and default values in braces."""
    plain = re.sub(
        r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'',
        lambda token: '""' if token[0][0] in "\"'" else " ",
        text,
        flags=re.DOTALL,
    )
    return re.sub(r"=\s*\{[^{}]*\}", "", plain)  # default values in braces


def without(pattern: str, text: str) -> str:
    """Remove all matches of a pattern until none is left, so that nested brackets go as well."""
    while (shorter := re.sub(pattern, "", text)) != text:
        text = shorter
    return text


def methods(text: str) -> Iterator[tuple[str, int]]:
    """Yield each class of a header with the number of its methods, nested classes apart."""
    for opening in re.finditer(r"\b(?:class|struct)\s+(?:alignas\(\w+\)\s*)?(\w+)[^;{}()]*\{", text):
        depth, at = 1, opening.end()
        members = []  # characters of the class outside of inner braces; a ";" ends each body
        while depth > 0:
            char = text[at]
            depth += {"{": 1, "}": -1}.get(char, 0)
            if depth == 1:
                members.append(";" if char == "}" else char)
            at += 1
        body = without(r"<[^<>()]*>", "".join(members))
        body = re.sub(r"std::function<[^;]*?>(?=\s*\w+\s*[;=])", "", body)
        declarations = [re.sub(r"\b(?:public|private|protected)\s*:", "", part) for part in body.split(";")]
        counted = [
            part
            for part in declarations
            if re.search(r"(?:\w|operator\W+)\s*\(", part)
            and not re.match(r"\s*(?:using|friend|static_assert|enum|struct|class|union|ASSERT)\b", part)
        ]
        yield opening[1], len(counted)


@pytest.mark.parametrize("header", HEADERS, ids=lambda path: str(path.relative_to(ENGINE)))
def test_numbers_with_a_type_are_not_plain_integers(header: Path) -> None:
    bare = [match[0] for match in BARE.finditer(code(header.read_text()))]
    assert not bare, f"use the types of units.h: {bare}"


def test_no_class_has_more_than_40_methods() -> None:
    counts = {
        f"{header.relative_to(ENGINE)}: {name}": count
        for header in HEADERS
        for name, count in methods(code(header.read_text()))
    }
    assert len(counts) > 100  # the reader finds the classes
    assert {name: count for name, count in counts.items() if count > MOST_METHODS} == {}
