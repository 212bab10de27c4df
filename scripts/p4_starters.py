#!/usr/bin/env python3
"""Compiles the starters of the labs whose students write P4, each into the build/ of its lab."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.lessons.catalogue import labs
from harness.lessons.p4_program import lay_out, p4_sources, p4c_command


def main() -> int:
    for lab in labs():
        if lab.p4 is None:
            continue
        print(f"p4: the starter of {lab.name}", flush=True)
        build = lab.folder / "build"
        build.mkdir(exist_ok=True)
        with TemporaryDirectory() as tree:
            lay_out(p4_sources(lab, lab.starter), Path(tree))
            # The path of a source goes into the output: relative, it is the same wherever this runs.
            subprocess.run(p4c_command(lab.p4.file, build), cwd=tree, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
