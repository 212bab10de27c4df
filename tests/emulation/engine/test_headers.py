# SPDX-License-Identifier: Apache-2.0
"""Rules of the engine's sources: types of emulation/engine/units.h, short classes, namespaces of rooms."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ENGINE = Path(__file__).parents[3] / "emulation" / "engine"
HEADERS = sorted(ENGINE.rglob("*.h"))
MOST_METHODS = 40

# Each room is a namespace in `railyard`, of its own name unless the name is a keyword of C++.
ROOMS = sorted(path.name for path in ENGINE.iterdir() if path.is_dir())
NAMESPACES = {"switch": "switching"}
SOURCES = sorted(path for room in ROOMS for kind in ("*.h", "*.cpp") for path in (ENGINE / room).rglob(kind))
FORWARD = re.compile(r"^namespace railyard(?:::\w+)? \{\s*(?:(?:class|struct) \w+;\s*)+\}", re.MULTILINE)

INTEGER = r"(?:int|unsigned|long|(?:std::)?(?:u?int(?:8|16|32|64)_t|size_t))"
TYPED = r"(?:vl|lane|port|priority|direction|(?:cpu|ingress|egress|from|to)_port)"
BARE = re.compile(rf"\b{INTEGER}\s+(?:\w+(?:\s*=\s*\w+)?,\s*)*{TYPED}_?\b")

# std::size_t is for memory and positions in it; a list of 8-bit numbers has contents, not amounts.
COUNT = r"(?:unsigned|int|long|(?:std::)?u?int(?:8|16|32|64)_t)"
DECLARED = re.compile(rf"\b{COUNT}(?:(?<!8_t)>+)?\s+((?:\w+(?:\s*=\s*[\w<']+)?,\s*)*\w+)")
AMOUNT = re.compile(
    r"(?:\w+_)?(?:times?|delays?|deadlines?|timeouts?|rtt|rto|bytes|ps|us|ms|seconds|rates?|bps)(?:_\w+|_)?"
    r"|k\w*(?:Time|Delay|Timeout|Bytes|Rate|Bps)"
)
WIDTHS = "widths of headers and positions in a frame, with which the program computes addresses"
INTEGERS_BY_DESIGN = {  # header: names that are integers, and why
    "frames/link_header.h": ({"kLinkHeaderBytes", "kRouteBytes", "kFlitBytes"}, WIDTHS),
    "hosts/congestion/dcqcn.h": ({"by_time_", "by_bytes_"}, "numbers of increases of the rate"),
    "hosts/messages/fields.h": ({"link_bytes"}, "field of a header"),
    "hosts/tree/tree_frame.h": ({"kValueBytes"}, WIDTHS),
    "hosts/tree/tree_member.h": ({"item_bytes"}, "width of an array's elements"),
    "load/program/program.h": ({"bytes", "max_bytes", "key_bytes"}, WIDTHS),
    "switch/stages/deparser.h": ({"bytes"}, WIDTHS),
    "switch/stages/frame_state.h": ({"bytes", "bytes_of"}, WIDTHS),
    "switch/stages/parser.h": ({"bytes"}, WIDTHS),
    "switch/stages/translated.h": ({"bytes", "kBytes"}, WIDTHS),
    "tables/meter.h": ({"committed_rate", "peak_rate", "rate", "rates"}, "bytes or frames a second"),
    "wire/ports/packet_socket.h": ({"send_bytes"}, "memory, as setsockopt takes it"),
    "wire/ports/ports.h": ({"send_bytes", "send_bytes_"}, "memory, as setsockopt takes it"),
    "wire/wire.h": ({"send_bytes"}, "memory, as setsockopt takes it"),
}


def code(text: str) -> str:
    """Return C++ without comments, the contents of strings and characters, and default values in braces."""
    plain = re.sub(
        r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'',
        lambda token: '""' if token[0][0] in "\"'" else " ",
        text,
        flags=re.DOTALL,
    )
    return re.sub(r"=\s*\{[^{}]*\}", "", plain)  # default values in braces


def bare_amounts(text: str) -> set[str]:
    """Return the names of times, byte counts and rates that C++ declares as integers."""
    return {
        name
        for declared in DECLARED.finditer(text)
        for name in re.findall(r"\w+", re.sub(r"=\s*[\w<']+", "", declared[1]))
        if AMOUNT.fullmatch(name)
    }


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


@pytest.mark.parametrize("header", HEADERS, ids=lambda path: str(path.relative_to(ENGINE)))
def test_times_byte_counts_and_rates_have_a_type(header: Path) -> None:
    bare = bare_amounts(code(header.read_text()))
    integers, _ = INTEGERS_BY_DESIGN.get(str(header.relative_to(ENGINE)), (set(), ""))
    assert bare == integers, f"use types of units.h, or list what is an integer: {bare ^ integers}"


@pytest.mark.parametrize(
    "text",
    [
        "std::int64_t delay = 0;",
        "void wait(std::int64_t timeout_ps);",
        "std::uint64_t packets = 0, queued_bytes = 0;",
        "std::vector<std::int64_t> bytes_;",
        "[[nodiscard]] long next_deadline() const;",
        "constexpr std::uint32_t kMaxFrameBytes = 9216;",
        "std::optional<std::int64_t> rate_bps{};",
        "constexpr std::int64_t kLineRate = 0;",
    ],
)
def test_the_reader_finds_bare_times_byte_counts_and_rates(text: str) -> None:
    assert bare_amounts(text)


@pytest.mark.parametrize(
    "text",
    [
        "Time delay{};",
        "Bytes queued_bytes;",
        "Rate rate{};",
        "double rate_;",
        "std::uint64_t separate = 0;",
        "std::size_t bytes = 0;",
        "std::uint32_t psn, Time rtt",
    ],
)
def test_the_reader_passes_amounts_with_a_type_and_memory(text: str) -> None:
    assert not bare_amounts(text)


def test_no_class_has_more_than_40_methods() -> None:
    counts = {
        f"{header.relative_to(ENGINE)}: {name}": count
        for header in HEADERS
        for name, count in methods(code(header.read_text()))
    }
    assert len(counts) > 100  # the reader finds the classes
    assert {name: count for name, count in counts.items() if count > MOST_METHODS} == {}


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: str(path.relative_to(ENGINE)))
def test_a_room_declares_its_names_in_its_own_namespace(source: Path) -> None:
    room = source.relative_to(ENGINE).parts[0]
    namespace = f"railyard::{NAMESPACES.get(room, room)}"
    opened = re.findall(r"^namespace (railyard\S*)", FORWARD.sub("", code(source.read_text())), re.MULTILINE)
    assert [name for name in opened if name != namespace and not name.startswith(f"{namespace}::")] == []


def test_every_room_declares_names() -> None:
    assert {"frames", "load", "switch"} < set(ROOMS)
    assert len(SOURCES) > 200


def test_headers_open_no_namespace_for_all_who_include_them() -> None:
    assert [header.name for header in HEADERS if "using namespace" in code(header.read_text())] == []
