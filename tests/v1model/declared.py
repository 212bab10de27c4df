# SPDX-License-Identifier: Apache-2.0
"""Externs and enumerations of core.p4 and v1model.p4, and the program of this folder that uses each.

An extern is (name, method, number of arguments): the method is empty for a function, and the name for a
constructor. The list is p4c's of 2026; a test compares it with the files of a p4c that is installed.
"""

import re
from collections.abc import Iterator
from pathlib import Path

__all__ = ["CONSTANTS", "EXTERNS", "REFUSED", "calls", "constants_in", "externs_in"]

Extern = tuple[str, str, int]

EXTERNS: dict[Extern, str] = {
    ("packet_in", "extract", 1): "packets",
    ("packet_in", "extract", 2): "packets",
    ("packet_in", "lookahead", 0): "packets",
    ("packet_in", "advance", 1): "packets",
    ("packet_in", "length", 0): "refused/packet_length",
    ("packet_out", "emit", 1): "packets",
    ("verify", "", 2): "packets",
    ("static_assert", "", 1): "packets",
    ("static_assert", "", 2): "packets",
    ("counter", "counter", 2): "counters",
    ("counter", "count", 1): "counters",
    ("direct_counter", "direct_counter", 1): "counters",
    ("direct_counter", "count", 0): "counters",
    ("meter", "meter", 2): "meters",
    ("meter", "execute_meter", 2): "meters",
    ("direct_meter", "direct_meter", 1): "meters",
    ("direct_meter", "read", 1): "meters",
    ("register", "register", 1): "registers",
    ("register", "read", 2): "registers",
    ("register", "write", 2): "registers",
    ("action_profile", "action_profile", 1): "action_profiles",
    ("action_selector", "action_selector", 3): "action_profiles",
    ("random", "", 3): "random_numbers",
    ("digest", "", 2): "digests",
    ("mark_to_drop", "", 0): "refused/drop_without_argument",
    ("mark_to_drop", "", 1): "drops",
    ("hash", "", 5): "hashes",
    ("Checksum16", "Checksum16", 0): "refused/checksum16",
    ("Checksum16", "get", 1): "refused/checksum16",
    ("verify_checksum", "", 4): "checksums",
    ("update_checksum", "", 4): "checksums",
    ("verify_checksum_with_payload", "", 4): "checksums",
    ("update_checksum_with_payload", "", 4): "checksums",
    ("clone", "", 2): "clones",
    ("clone_preserving_field_list", "", 3): "clones",
    ("clone3", "", 3): "refused/clone3",
    ("resubmit", "", 1): "refused/resubmit_with_data",
    ("resubmit_preserving_field_list", "", 1): "resubmits",
    ("recirculate", "", 1): "refused/recirculate_with_data",
    ("recirculate_preserving_field_list", "", 1): "recirculations",
    ("truncate", "", 1): "truncation",
    ("assert", "", 1): "assertions",
    ("assume", "", 1): "assertions",
    ("log_msg", "", 1): "messages",
    ("log_msg", "", 2): "messages",
}

CONSTANTS: dict[str, str] = {
    "CounterType.packets": "counters",
    "CounterType.bytes": "counters",
    "CounterType.packets_and_bytes": "counters",
    "MeterType.packets": "meters",
    "MeterType.bytes": "meters",
    "HashAlgorithm.crc32": "hashes",
    "HashAlgorithm.crc32_custom": "hashes",
    "HashAlgorithm.crc16": "hashes",
    "HashAlgorithm.crc16_custom": "hashes",
    "HashAlgorithm.random": "hash_random",
    "HashAlgorithm.identity": "hashes",
    "HashAlgorithm.csum16": "hashes",
    "HashAlgorithm.xor16": "hashes",
    "CloneType.I2E": "clones",
    "CloneType.E2E": "clones",
}

REFUSED = sorted({program for program in EXTERNS.values() if program.startswith("refused/")})
"""Programs that p4c-bm2-ss does not compile, so that no switch can run them."""

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_NEWER = re.compile(r"#if V1MODEL_VERSION.*?(?:#else(.*?))?#endif", re.DOTALL)
_OBJECT = re.compile(r"\bextern\s+(\w+)\s*(?:<[^>]*>)?\s*\{(.*?)\n\}", re.DOTALL)
_FUNCTION = re.compile(r"\bextern\s+\w+\s+(\w+)\s*(?:<[^>]*>)?\s*\(([^)]*)\)")
_METHOD = re.compile(r"\b(\w+)\s*(?:<[^>]*>)?\s*\(([^)]*)\)\s*;")
_ENUM = re.compile(r"\benum\s+(\w+)\s*\{([^}]*)\}")


def externs_in(text: str) -> set[Extern]:
    """Return the externs that a file declares, in the version of v1model that p4c takes by default."""
    text = _plain(text)
    result = {(name, "", _arity(parameters)) for name, parameters in _FUNCTION.findall(text)}
    for name, body in _OBJECT.findall(text):
        result |= {(name, method, _arity(parameters)) for method, parameters in _METHOD.findall(body)}
    return result


def constants_in(text: str) -> set[str]:
    """Return the members of the enumerations that a file declares."""
    return {
        f"{name}.{member}"
        for name, body in _ENUM.findall(_plain(text))
        for member in re.findall(r"\w+", body)
    }


def calls(source: Path) -> Iterator[tuple[str, int]]:
    """Yield the name and the number of arguments of every call and instantiation in a program."""
    text = _COMMENT.sub("", source.read_text())
    for match in re.finditer(r"\b(\w+)\s*(?:<(?:[^<>;(){}]|<[^<>;(){}]*>)*>+)?\s*\(", text):
        depth, commas, at = 1, 0, match.end()
        while depth:
            depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(text[at], 0)
            commas += text[at] == "," and depth == 1
            at += 1
        yield match[1], commas + 1 if text[match.end() : at - 1].strip() else 0


def _plain(text: str) -> str:
    return _NEWER.sub(lambda match: match[1] or "", _COMMENT.sub("", text))


def _arity(parameters: str) -> int:
    return parameters.count(",") + 1 if parameters.strip() else 0
