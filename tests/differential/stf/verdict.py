# SPDX-License-Identifier: Apache-2.0
"""Comparison of a switch's output with the expectations of an STF file."""

import operator
from collections.abc import Iterable, Sequence

from tests.differential.stf.language import CheckCounter, Expect, Packet, Statement

__all__ = ["Outputs", "counter_agrees", "expected_count", "ports", "verdict"]

Outputs = dict[int, list[bytes]]
"""The packets that left by each port, in order."""

_RELATIONS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def ports(statements: Iterable[Statement]) -> list[int]:
    """Return the ports that the file names, in order; packets by other ports are not seen."""
    return sorted({statement.port for statement in statements if isinstance(statement, Packet | Expect)})


def expected_count(statements: Iterable[Statement]) -> int:
    return sum(isinstance(statement, Expect) for statement in statements)


def verdict(statements: Sequence[Statement], outputs: Outputs) -> list[str]:
    """Return the differences port by port; empty when the test has passed."""
    differences: list[str] = []
    for port in ports(statements):
        expected = [
            statement for statement in statements if isinstance(statement, Expect) and statement.port == port
        ]
        arrived = outputs.get(port, [])
        for number, (wanted, packet) in enumerate(zip(expected, arrived, strict=False), 1):
            if not _fits(wanted, packet):
                wish = f"{wanted.digits}{'$' if wanted.exact else ''} of line {wanted.line}"
                differences.append(f"port {port}, packet {number}: {packet.hex().upper()} for {wish}")
        for wanted in expected[len(arrived) :]:
            wish = wanted.digits or "any packet"
            differences.append(f"port {port}: nothing for line {wanted.line}, {wish}")
        for packet in arrived[len(expected) :]:
            differences.append(f"port {port}: nobody expects {packet.hex().upper()}")
    return differences


def counter_agrees(statement: CheckCounter, packets: int, octets: int) -> str:
    """Return the error of the counter's value, or an empty text."""
    value = octets if statement.what == "bytes" else packets
    if statement.what is None or _RELATIONS[statement.relation](value, statement.value):
        return ""
    where = f"line {statement.line}: {statement.counter}({statement.index})"
    return f"{where}: {value} {statement.what}, not {statement.relation} {statement.value}"


def _fits(wanted: Expect, packet: bytes) -> bool:
    if wanted.digits is None:
        return True
    digits = packet.hex().upper()
    if len(digits) < len(wanted.digits) or (wanted.exact and len(digits) > len(wanted.digits)):
        return False
    return all(want in ("*", got) for want, got in zip(wanted.digits, digits, strict=False))
