# SPDX-License-Identifier: Apache-2.0
"""Compile P4 programs with p4c-bm2-ss, once: what it wrote is kept under $XDG_CACHE_HOME."""

import hashlib
import os
import re
import subprocess
from pathlib import Path

__all__ = ["COMPILER", "CompileError", "compiled", "corpus"]

COMPILER = "p4c-bm2-ss"

_SAMPLES = Path("testdata") / "p4_16_samples"
_V1MODEL = re.compile(r'#include\s*[<"]v1model\.p4[>"]')
_SECONDS = 120.0


class CompileError(Exception):
    """p4c does not take the program; the message is p4c's."""


def compiled(source: Path) -> bytes:
    """BMv2's JSON of a v1model program."""
    name = f"{source.stem}-{_digest(source)}.json"
    kept = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "railyard" / "p4c" / name
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        fresh = kept.with_suffix(f".{os.getpid()}.json")
        # As p4c's own tests do: without --arch, so that a program of an older v1model is taken as well.
        done = subprocess.run(
            [COMPILER, "-o", fresh, source], capture_output=True, text=True, timeout=_SECONDS, check=False
        )
        if done.returncode != 0:
            errors = [line for line in done.stderr.splitlines() if "error:" in line]
            raise CompileError(f"{COMPILER}: {' '.join(errors) or done.stderr.strip()[-500:]}")
        fresh.replace(kept)
    return kept.read_bytes()


def corpus(p4c: Path) -> list[Path]:
    """The STF files of p4c's v1model tests in a checkout of p4c, each beside its program."""
    folder = p4c / _SAMPLES
    if not folder.is_dir():
        raise FileNotFoundError(f"{p4c} has no {_SAMPLES}: give a checkout of https://github.com/p4lang/p4c")
    # The others are of PSA, or of an architecture of their own.
    return [
        file
        for file in sorted(folder.glob("*-bmv2.stf"))
        if _V1MODEL.search(file.with_suffix(".p4").read_text())
    ]


def _digest(source: Path) -> str:
    """Return the digest of the compiler, the program and its own includes."""
    version = subprocess.run([COMPILER, "--version"], capture_output=True, check=True).stdout
    digest, seen, waiting = hashlib.sha256(version), set[Path](), [source.resolve()]
    while waiting:
        file = waiting.pop()
        if file in seen or not file.is_file():
            continue
        seen.add(file)
        text = file.read_bytes()
        digest.update(text)
        waiting += [file.parent / item.decode() for item in re.findall(rb'#include\s+"([^"]+)"', text)]
    return digest.hexdigest()[:16]
