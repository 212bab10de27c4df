# SPDX-License-Identifier: Apache-2.0
"""Similarity of students' files: the share of one student's token sequences that another has as well.

A file becomes a list of tokens without comments and layout. In programs all names but keywords become one
token, so that renaming changes nothing. Sequences that the starter has as well do not count.
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

# Names that stay in a program, by the suffix of its file; other files, such as settings, keep all names.
_KEYWORDS = {
    ".py": frozenset((*keyword.kwlist, "len", "max", "min", "range", "set", "sorted", "sum", "zip")),
    ".p4": frozenset(_P4_KEYWORDS.split()),
}

# Tokens of a sequence; shorter sequences are alike by chance.
_LENGTH = 10
# Fewer sequences of a student's own are too few to judge: short answers are alike.
_LEAST = 40
# Largest file that is read, in bytes, as in a check.
_LARGEST = 1 << 20


def fingerprint(folder: Path, lab: Lab) -> Fingerprint:
    """Return the token sequences of the student's files in a folder that the lab's starter does not have."""
    return _sequences(folder, lab.files) - _sequences(lab.starter, lab.files)


def likeness(a: Fingerprint, b: Fingerprint) -> float:
    """Return the share, 0 to 1, of the smaller fingerprint that the other has as well; 0 if that is small."""
    smaller = min(len(a), len(b))
    return len(a & b) / smaller if smaller >= _LEAST else 0.0


def _sequences(folder: Path, names: Iterable[str]) -> Fingerprint:
    sequences: set[tuple[str, ...]] = set()
    for name in names:
        tokens = _tokens(folder / name)
        sequences.update(zip(*(islice(tokens, start, None) for start in range(_LENGTH)), strict=False))
    return frozenset(sequences)


def _tokens(path: Path) -> list[str]:
    """Return a file's tokens; none if it is missing or no regular file that can be read."""
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
