# SPDX-License-Identifier: Apache-2.0
"""Parse and complete the words after a command of the Mininet command line: nodes, links, frames."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable, Sequence
from typing import NoReturn

from emulation.errors import TestbedError
from harness.frames.craft import Order
from topologies import Fabric

__all__ = ["FRAME_OPTIONS", "completions", "frame_order", "links_of", "words_of"]


def words_of(line: str, usage: str, least: int, most: int) -> list[str]:
    """Return the words of a line; TestbedError if they are not `least` to `most` in number.

    `usage` is the remedy of the error, such as "capture LINK FILE".
    """
    try:
        words = shlex.split(line)
    except ValueError as ex:
        raise TestbedError(f"{line!r} cannot be parsed: {ex}", remedy="close every quotation mark") from None
    if not least <= len(words) <= most:
        expected = f"at least {least}" if len(words) < least else f"at most {most}"
        raise TestbedError(
            f"expected {expected} words after the command, got {len(words)}", remedy=f"type {usage}"
        )
    return words


def links_of(fabric: Fabric, words: Sequence[str]) -> list[str]:
    """Return names of links: `words` is the name of a link, or two nodes for all links between them.

    Raises TestbedError if no link joins the two nodes.
    """
    if len(words) == 1:
        return [fabric.link(words[0]).name]
    ends = {fabric.node(word).name for word in words}
    links = [link.name for link in fabric.links if {link.a.node, link.b.node} == ends]
    if not links:
        raise TestbedError(
            f"no link joins {words[0]} and {words[1]}",
            remedy=f"name a neighbour of {words[0]}: {', '.join(_neighbours(fabric, words[0]))}",
        )
    return links


def _neighbours(fabric: Fabric, node: str) -> list[str]:
    pairs = [(link.a.node, link.b.node) for link in fabric.links]
    return sorted({b if a == node else a for a, b in pairs if node in (a, b)}) or ["no node"]


class _Parser(argparse.ArgumentParser):
    """Argument parser that raises a TestbedError instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        raise TestbedError(message, remedy=self.format_usage().strip().removeprefix("usage: "))


def _parser() -> _Parser:
    parser = _Parser(prog="craft", add_help=False, allow_abbrev=False)
    parser.add_argument("source", metavar="SOURCE")
    parser.add_argument("destination", metavar="DESTINATION")
    parser.add_argument("--bucket", type=int, default=0)
    parser.add_argument("--route", default="", metavar="HOP,HOP")
    parser.add_argument("--psn", type=int, default=0)
    parser.add_argument("--payload-bytes", type=int, default=16, metavar="N")
    parser.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE")
    parser.add_argument("--ack", action="store_true")
    parser.add_argument("--notice", default="", metavar="LINK")
    parser.add_argument("--up", action="store_true")
    return parser


FRAME_OPTIONS = ("--bucket", "--route", "--psn", "--payload-bytes", "--set", "--ack", "--notice", "--up")
"""Options of the command `craft`; `railyard craft` has equal options."""


def frame_order(line: str) -> Order:
    """Return the frame described by the words after the command `craft`; TestbedError for invalid words."""
    given = _parser().parse_args(words_of(line, "craft SOURCE DESTINATION [options]", 2, 100))
    return Order(
        source=given.source,
        destination=given.destination,
        kind="ack" if given.ack else "notice" if given.notice else "data",
        route=tuple(step.strip() for step in given.route.split(",")) if given.route else (),
        bucket=given.bucket,
        psn=given.psn,
        payload=bytes(index & 0xFF for index in range(given.payload_bytes)),
        link=given.notice,
        up=given.up,
        changes=tuple(given.set),
    )


def completions(line: str, begin: int, end: int, words: Iterable[str]) -> list[str]:
    """Return the completions of the text between `begin` and `end` of a line, out of `words`.

    readline takes "-" as the end of a word. `begin` may then lie inside a word: the whole word is matched,
    and the completions continue from `begin`.
    """
    start = line.rfind(" ", 0, begin) + 1
    typed = line[start:end]
    return sorted(word[begin - start :] for word in words if word.startswith(typed))
