# SPDX-License-Identifier: Apache-2.0
"""Count docstrings that open as a relative clause and variables called `one`; fail if there are any.

    python scripts/prose.py [FOLDER ...]

`make check` runs this over every tracked Python file. A docstring counts when its first word introduces a
clause instead of a subject ("What one node changes", "Of a stage"); a variable counts where it is bound.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

OPENINGS = frozenset(
    {"of", "by", "what", "who", "who's", "whom", "whose", "whether", "which", "where", "when", "how"}
    | {"those", "that", "these", "whatever", "whoever"}
)
VAGUE = frozenset({"one", "far", "near", "found", "made", "came", "gone"})


def docstrings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and the first line of every docstring."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and (
            text := ast.get_docstring(node)
        ):
            yield node.body[0].lineno, text.splitlines()[0]


def vague_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of every variable or parameter bound to a vague name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in VAGUE:
            yield node.lineno, node.id
        elif isinstance(node, ast.arg) and node.arg in VAGUE:
            yield node.lineno, node.arg


def opens_as_clause(text: str) -> bool:
    """Return whether a docstring's first line opens with a relative clause instead of a subject or verb."""
    words = text.split()
    return bool(words) and (words[0].lower() in OPENINGS or text.startswith("The same"))


def main() -> int:
    """Print both counts and every place, and return the exit code."""
    arguments = sys.argv[1:]
    listed = subprocess.run(["git", "ls-files", "*.py"], capture_output=True, text=True, check=True)
    files = [
        Path(name)
        for name in listed.stdout.split()
        if not arguments or any(Path(name).is_relative_to(folder) for folder in arguments)
    ]
    total, clauses, vague = 0, [], []
    for path in files:
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
        for line, text in docstrings(tree):
            total += 1
            if opens_as_clause(text):
                clauses.append(f"{path}:{line}: {text}")
        vague += [f"{path}:{line}: a variable called {name}" for line, name in vague_names(tree)]
    for place in (*clauses, *vague):
        print(place)
    counts = f"{len(clauses)} of {total} docstrings open with a relative clause"
    print(f"{counts}; {len(vague)} vague variable names")
    return int(bool(clauses or vague))


if __name__ == "__main__":
    sys.exit(main())
