# SPDX-License-Identifier: Apache-2.0
"""Count docstrings and comments that open as a relative clause, and vague names; fail if there are any.

    python scripts/prose.py [FOLDER ...]

`make lint` runs this over every tracked file. A docstring, of an attribute too, counts when its first word
introduces a clause instead of a subject ("What one node changes", "Of a stage"). So does a comment of C++, P4
and JavaScript. A variable of Python counts where it is bound.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

OPENINGS = frozenset(
    {"of", "by", "what", "who", "who's", "whom", "whose", "whether", "which", "where", "when", "how"}
    | {"those", "that", "these", "whatever", "whoever", "why"}
)
# A line comment, or the first line of text in a block comment.
COMMENT = re.compile(r"(?://|/\*\*|\*)\s+([^@\s].*)")
VAGUE = frozenset({"one", "far", "near", "found", "made", "came", "gone"})


def docstrings(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield the line and the first line of every docstring, and of every string below an attribute."""
    for node in nodes:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and (
            text := ast.get_docstring(node)
        ):
            yield node.body[0].lineno, text.splitlines()[0]
        if isinstance(node, ast.Module | ast.ClassDef):
            for before, after in pairwise(node.body):
                if isinstance(before, ast.Assign | ast.AnnAssign) and (text := _string(after)):
                    yield after.lineno, text.splitlines()[0]


def _string(statement: ast.stmt) -> str:
    """Return the text of a statement that is a string; empty for any other statement."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return statement.value.value.strip() if isinstance(statement.value.value, str) else ""
    return ""


def comments(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the first line of every comment of C++, P4 or JavaScript that begins a line."""
    before = ""
    for number, line in enumerate(map(str.strip, source.splitlines()), 1):
        goes_on = before.startswith("//") and "SPDX" not in before
        begins = before == "/**" if line.startswith("*") else not (goes_on and line.startswith("//"))
        if begins and (match := COMMENT.match(line)):
            yield number, match[1]
        before = line


def vague_names(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of every variable or parameter bound to a vague name."""
    for node in nodes:
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
    endings = ("*.py", "*.cpp", "*.h", "*.p4", "*.js", "*.ts")
    listed = subprocess.run(["git", "ls-files", *endings], capture_output=True, text=True, check=True)
    files = [
        Path(name)
        for name in listed.stdout.split()
        if not arguments or any(Path(name).is_relative_to(folder) for folder in arguments)
    ]
    total, clauses, vague = 0, [], []
    for path in files:
        source = path.read_text(encoding="utf-8")
        python = path.suffix == ".py"
        # A walk takes as long as parsing: there is a single walk for all rules.
        nodes = list(ast.walk(ast.parse(source, filename=str(path)))) if python else []
        for line, text in docstrings(nodes) if python else comments(source):
            total += 1
            if opens_as_clause(text):
                clauses.append(f"{path}:{line}: {text}")
        vague += [f"{path}:{line}: a variable called {name}" for line, name in vague_names(nodes)]
    for place in (*clauses, *vague):
        print(place)
    counts = f"{len(clauses)} of {total} docstrings and comments open with a relative clause"
    print(f"{counts}; {len(vague)} vague variable names")
    return int(bool(clauses or vague))


if __name__ == "__main__":
    sys.exit(main())
