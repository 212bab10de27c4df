# SPDX-License-Identifier: Apache-2.0
"""STF, the test language of p4c: what a file asks for, line by line, names not yet looked up.

    add ingress.t 10 hdr.h.a:0x25** hdr.h.b:7 ingress.act(port:2)    # more important: larger number
    add ingress.s hdr.h.a:7 ingress.act(port:2) | ingress.act(port:3)  # ours: a group of members
    setdefault ingress.t ingress.act(port:3)
    packet 0 0001 02ff
    expect 2 0001 ****$                                              # $: and nothing more
    expect 3                                                         # whatever it holds

Numbers are decimal or begin with 0x, 0b or 0o; `*` is a digit that does not matter.
Source: p4c, tools/stf and backends/bmv2/bmv2stf.py.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

__all__ = ["Add", "CheckCounter", "Command", "Expect", "Packet", "RemoveAll", "SetDefault", "Statement"]
__all__ += ["StfError", "Wait", "parse"]


class StfError(Exception):
    """An STF file that cannot be run as it is written; says which line."""


@final
@dataclass(frozen=True, slots=True)
class Packet:
    line: int
    port: int
    data: bytes


@final
@dataclass(frozen=True, slots=True)
class Expect:
    """A packet on `port`: `digits` in hexadecimal from its beginning, None for any."""

    line: int
    port: int
    digits: str | None
    exact: bool = False


@final
@dataclass(frozen=True, slots=True)
class Add:
    line: int
    table: str
    priority: int | None
    keys: tuple[tuple[str, str], ...]
    action: str
    arguments: tuple[tuple[str, str], ...]
    others: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = ()  # calls of the group's further members


@final
@dataclass(frozen=True, slots=True)
class SetDefault:
    line: int
    table: str
    action: str
    arguments: tuple[tuple[str, str], ...]


@final
@dataclass(frozen=True, slots=True)
class RemoveAll:
    line: int


@final
@dataclass(frozen=True, slots=True)
class Wait:
    line: int


@final
@dataclass(frozen=True, slots=True)
class CheckCounter:
    """`what` is packets or bytes; nothing is compared when it is None."""

    line: int
    counter: str
    index: int
    what: str | None = None
    relation: str = "=="
    value: int = 0


@final
@dataclass(frozen=True, slots=True)
class Command:
    """One of simple_switch_CLI's own, with its arguments as written."""

    line: int
    name: str
    arguments: tuple[str, ...]


Statement = Packet | Expect | Add | SetDefault | RemoveAll | Wait | CheckCounter | Command

_COMMANDS = {
    *("mirroring_add", "mirroring_add_mc", "mirroring_delete", "mirroring_get"),
    *("mc_mgrp_create", "mc_node_create", "mc_node_update", "mc_node_associate"),
    *("counter_read", "counter_write", "register_read", "register_write", "register_reset"),
    *("meter_get_rates", "meter_set_rates", "meter_array_set_rates"),
}

_TOKEN = re.compile(r'\s*(?:"([^"]*)"|([\w$.*\[\]]+)|([<>=!]=|[<>=:,()/|]))')


def parse(text: str) -> tuple[Statement, ...]:
    """StfError names the line that is none of the language."""
    statements: list[Statement] = []
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        word, _, rest = stripped.partition(" ")
        if "\t" in word:
            word, _, rest = stripped.partition("\t")
        try:
            statement = _statement(number, word.lower(), rest)
        except (ValueError, StopIteration) as ex:
            raise StfError(f"line {number}: {stripped!r} is not STF: {ex or 'it ends too early'}") from ex
        if statement is not None:
            statements.append(statement)
    return tuple(statements)


def _statement(line: int, word: str, rest: str) -> Statement | None:
    if word == "no_packet":
        return None  # what is expected nowhere must not come in any case
    if word in ("packet", "expect"):
        fields = rest.partition("#")[0].split()
        if not fields:
            raise StopIteration
        port, data = int(fields[0]), "".join(fields[1:]).upper()
        if word == "packet":
            return Packet(line, port, bytes.fromhex(data))
        exact = data.endswith("$")
        data = data.removesuffix("$")
        if not re.fullmatch(r"[0-9A-F*]*", data):
            raise ValueError(f"{data} is not hexadecimal")
        return Expect(line, port, data or None, exact)
    tokens = _tokens(rest)
    if word in _COMMANDS:
        return Command(line, word, tuple("".join(part) for part in rest.partition("#")[0].split()))
    if word == "wait":
        return Wait(line)
    if word == "remove":
        if next(tokens).lower() != "all":
            raise ValueError("only `remove all` is known")
        return RemoveAll(line)
    if word == "setdefault":
        return SetDefault(line, next(tokens), *_call(tokens, next(tokens)))
    if word == "check_counter":
        return _check_counter(line, list(tokens))
    if word == "add":
        return _add(line, tokens)
    raise ValueError(f"{word} is no statement")


def _tokens(text: str) -> Iterator[str]:
    at = 0
    while at < len(text) and not re.match(r"\s*(#|$)", text[at:]):
        result = _TOKEN.match(text, at)
        if result is None:
            raise ValueError(f"{text[at:].strip()!r} cannot be read")
        at = result.end()
        yield next(group for group in result.groups() if group is not None)


def _add(line: int, tokens: Iterator[str]) -> Add:
    table, token, priority = next(tokens), next(tokens), None
    if token.isdecimal():
        priority, token = int(token), next(tokens)
    keys: list[tuple[str, str]] = []
    following = next(tokens)
    while following == ":":
        value, after = next(tokens), next(tokens)
        if after == "/":
            value, after = f"{value}/{next(tokens)}", next(tokens)
        keys.append((token, value))
        token, following = after, next(tokens)
    if following != "(":
        raise ValueError(f"{following!r} where the action's ( should be")
    first, others = _arguments(tokens), []
    for separator in tokens:
        if separator != "|":
            break  # p4c's files may give the entry a name
        others.append(_call(tokens, next(tokens)))
    return Add(line, table, priority, tuple(keys), token, first, tuple(others))


def _call(tokens: Iterator[str], action: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    if next(tokens) != "(":
        raise ValueError("an action needs ( and )")
    return action, _arguments(tokens)


def _arguments(tokens: Iterator[str]) -> tuple[tuple[str, str], ...]:
    arguments: list[tuple[str, str]] = []
    while (name := next(tokens)) != ")":
        if name == ",":
            name = next(tokens)
        if next(tokens) != ":":
            raise ValueError(f"no value for {name}")
        arguments.append((name, next(tokens)))
    return tuple(arguments)


def _check_counter(line: int, tokens: list[str]) -> CheckCounter:
    if tokens[1:2] != ["("] or tokens[3:4] != [")"]:
        raise ValueError("a counter needs (index)")
    counter, index = tokens[0], int(tokens[2], 0)
    if len(tokens) == 4:
        return CheckCounter(line, counter, index)
    what, relation, value = tokens[4:]
    if what not in ("packets", "bytes"):
        raise ValueError(f"{what} is neither packets nor bytes")
    return CheckCounter(line, counter, index, what, relation, int(value, 0))
