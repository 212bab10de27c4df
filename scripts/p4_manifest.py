#!/usr/bin/env python3
"""Ties the committed compiler output to its sources: `write` after a compilation, `check` at any time.

There is output in p4/build, tests/programs/build and tests/v1model/build, and in build/ of labs with a P4
starter. MANIFEST.json holds the SHA-256 of every source and output. `write` first takes the paths of the
compiling machine out of p4c's JSON, so that the output is the same wherever it was made.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Any

from harness.lessons.catalogue import labs
from harness.lessons.p4_program import p4_sources

ROOT = Path(__file__).resolve().parents[1]
LABS = {lab.folder: lab for lab in labs() if lab.p4}
FOLDERS = (ROOT / "p4", ROOT / "tests" / "programs", ROOT / "tests" / "v1model", *LABS)
SOURCES = ("*.p4", "include/*.p4", "control/**/*.p4")
OUTPUTS = ("*.json", "*.p4info.txtpb")
MANIFEST = "MANIFEST.json"


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def matching(folder: Path, patterns: Iterable[str]) -> list[Path]:
    return sorted(path for pattern in patterns for path in folder.glob(pattern) if path.name != MANIFEST)


def sources(p4: Path) -> dict[str, Path]:
    """Return the sources of a folder's output by name: of a lab, those of its starter."""
    if p4 in LABS:
        return p4_sources(LABS[p4], LABS[p4].starter)
    return {str(path.relative_to(p4)): path for path in matching(p4, SOURCES)}


def manifest(p4: Path) -> dict[str, dict[str, str]]:
    """Return the contents that MANIFEST.json should have for the files present."""
    return {
        "sources": {name: digest(path) for name, path in sources(p4).items()},
        "outputs": {path.name: digest(path) for path in matching(p4 / "build", OUTPUTS)},
    }


def differences(p4: Path) -> list[str]:
    """One line for each file that is not what the manifest says; empty when all is current."""
    try:
        recorded = json.loads((p4 / "build" / MANIFEST).read_text())
    except (OSError, ValueError) as ex:
        return [f"build/{MANIFEST}: {ex}"]
    lines = []
    for kind, now in manifest(p4).items():
        then = recorded.get(kind, {})
        for name in sorted({*now, *then}):
            if name not in then:
                lines.append(f"{kind[:-1]} {name}: new")
            elif name not in now:
                lines.append(f"{kind[:-1]} {name}: gone")
            elif now[name] != then[name]:
                lines.append(f"{kind[:-1]} {name}: changed")
    return lines


def portable(name: str, root: Path = ROOT) -> str:
    """Return a path as any machine would write it: relative to the repository or to p4c's include folder."""
    path = PurePosixPath(normpath(name))
    if not path.is_absolute():
        return str(path)
    if path.is_relative_to(root):
        return str(path.relative_to(root))
    return str(PurePosixPath("p4include", path.name))


def normalise(program: Any) -> None:
    """Make every path in a BMv2 JSON document portable, in place."""
    program["program"] = portable(program["program"])
    for info in source_infos(program):
        if "filename" in info:
            info["filename"] = portable(info["filename"])


def source_infos(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "source_info":
                yield value
            else:
                yield from source_infos(value)
    elif isinstance(node, list):
        for value in node:
            yield from source_infos(value)


def write(p4: Path) -> int:
    for path in matching(p4 / "build", ["*.json"]):
        program = json.loads(path.read_text())
        normalise(program)
        path.write_text(json.dumps(program, indent=2) + "\n")
    result = manifest(p4)
    (p4 / "build" / MANIFEST).write_text(json.dumps(result, indent=2) + "\n")
    counts = f"{len(result['outputs'])} outputs of {len(result['sources'])} sources"
    print(f"p4: {counts} in {p4.relative_to(ROOT)}/build")
    return 0


def check(p4: Path) -> int:
    lines = differences(p4)
    if not lines:
        print(f"p4: {p4.relative_to(ROOT)}/build is current")
        return 0
    stale = f"p4: {p4.relative_to(ROOT)}/build is stale; run `make p4` where p4c is installed"
    print(stale, *lines, sep="\n  ", file=sys.stderr)
    return 1


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("mode", choices=("write", "check"))
    run = write if parser.parse_args().mode == "write" else check
    return max([run(folder) for folder in FOLDERS])


if __name__ == "__main__":
    sys.exit(main())
