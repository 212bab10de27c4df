# SPDX-License-Identifier: Apache-2.0
"""Similarity of students' files: share of common sequences of tokens.

A file is split into tokens, without comments and layout. In programs, all names except keywords are replaced
by a single token, so that renaming changes nothing. Sequences of tokens in the starter do not count.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from harness.lessons.catalogue import Lab

__all__ = ["Fingerprint", "fingerprint", "likeness"]

Fingerprint = frozenset[tuple[str, ...]]

_C_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_HASH_COMMENTS = re.compile(r"#[^\n]*")
_NAME = re.compile(r"[^\W\d]\w*")
_TOKEN = re.compile(rf"{_NAME.pattern}|\d[\w.]*|\S")

_P4_KEYWORDS = (
    "action actions apply bit bool const control default else exit false hdr if in inout key meta out return "
    "table true"
)

# Names that are not replaced in programs, by file suffix; files without an entry keep all names.
_KEYWORDS = {
    ".py": frozenset((*keyword.kwlist, "len", "max", "min", "range", "set", "sorted", "sum", "zip")),
    ".p4": frozenset(_P4_KEYWORDS.split()),
}

# Number of tokens in a sequence; shorter sequences are often equal by chance.
_LENGTH = 10
# Smallest number of sequences that can be compared: short answers are often equal by chance.
_LEAST = 40
# Largest file that is read, in bytes; a check of a student's solution has the same limit.
_LARGEST = 1 << 20


def fingerprint(folder: Path, lab: Lab) -> Fingerprint:
    """Return the token sequences of the student's files in a folder, without those of the lab's starter."""
    return _sequences(folder, lab.files) - _sequences(lab.starter, lab.files)


def likeness(a: Fingerprint, b: Fingerprint) -> float:
    """Return the common sequences as a share of the smaller fingerprint, 0 to 1.

    A fingerprint with fewer than 40 sequences gives 0.
    """
    smaller = min(len(a), len(b))
    return len(a & b) / smaller if smaller >= _LEAST else 0.0


def _sequences(folder: Path, names: Iterable[str]) -> Fingerprint:
    sequences: set[tuple[str, ...]] = set()
    for name in names:
        tokens = _tokens(folder / name)
        sequences.update(zip(*(islice(tokens, start, None) for start in range(_LENGTH)), strict=False))
    return frozenset(sequences)


def _tokens(path: Path) -> list[str]:
    """Return the tokens of a file; none if it is missing, too large, a symbolic link or unreadable."""
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _LARGEST:
            return []
        text = path.read_text(errors="replace")
    except OSError:
        return []
    comments = _C_COMMENTS if path.suffix == ".p4" else _HASH_COMMENTS
    tokens = _TOKEN.findall(comments.sub(" ", text))
    kept = _KEYWORDS.get(path.suffix)
    return tokens if kept is None else ["name" if _NAME.match(t) and t not in kept else t for t in tokens]
