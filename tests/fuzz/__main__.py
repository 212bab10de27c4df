# SPDX-License-Identifier: Apache-2.0
"""Build the fuzz targets with clang's sanitizers, and run each for some minutes.

    python -m tests.fuzz [--minutes 10] [--corpus FOLDER ...] [TARGET ...]

program     mutated programs (BMv2's JSON) into the loader; what loads is driven for a while
frames      entries, groups, meters and frames, in any order, into programs that do not change
p4runtime   almost right P4Runtime messages into the service, in front of an engine with sanitizers
formats     any bytes into the readers of other tools' files

Further seeds and programs: folders of BMv2 JSON, say p4c's own tests compiled. Inputs worth keeping stay in
build/fuzz/corpus, where the next run begins. A crash leaves its input in build/fuzz/found.
Needs clang++ with libFuzzer; p4runtime and formats need the package atheris, formats needs no compiler.
"""

import argparse
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

__all__ = ["main"]

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[1]
_BUILD = _ROOT / "build" / "fuzz"
_PROGRAMS = (_ROOT / "p4" / "build", _ROOT / "tests" / "programs" / "build")
_LONGEST = {"program": 65536, "frames": 8192, "p4runtime": 1024, "formats": 4096}  # bytes of an input
_TARGETS = tuple(_LONGEST)
_OPTIONS = ("-timeout=25", "-rss_limit_mb=2560", "-print_final_stats=1", "-len_control=0")
_LAST = re.compile(r"^#(\d+)\s+DONE\s+cov: (\d+)", re.MULTILINE)


class FuzzError(Exception):
    """Something is missing; the message says what to do."""


def main(arguments: list[str] | None = None) -> int:
    """0: no target found anything; 1: one did; 2: something is missing."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"{', '.join(_TARGETS)}; all by default")
    parser.add_argument("--minutes", type=float, default=10.0, help="for each target")
    parser.add_argument("--corpus", action="append", type=Path, default=[], help="a folder of BMv2 JSON")
    given = parser.parse_args(arguments)
    targets = given.targets or _TARGETS
    try:
        if unknown := set(targets) - set(_TARGETS):
            raise FuzzError(f"no target {', '.join(sorted(unknown))}; there are {', '.join(_TARGETS)}")
        _build(targets)
        return max(_run(target, given.minutes, given.corpus) for target in targets)
    except FuzzError as error:
        print(f"fuzz: {error}", file=sys.stderr)
        return 2


def _build(targets: Iterable[str]) -> None:
    if {"p4runtime", "formats"} & {*targets} and importlib.util.find_spec("atheris") is None:
        raise FuzzError("no atheris: pip install atheris, or name the targets that need none: program frames")
    targets = [target for target in targets if target != "formats"]
    if not targets:
        return
    compiler = os.environ.get("CXX", "clang++")
    if shutil.which(compiler) is None:
        raise FuzzError(
            f"no {compiler}: libFuzzer comes with clang (apt-get install clang), or name one by CXX"
        )
    folder = Path(sys.executable).parent
    tools = os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"}
    configure = ("cmake", "-G", "Ninja", "-S", _HERE, "-B", _BUILD, f"-DCMAKE_CXX_COMPILER={compiler}")
    wanted = ["_engine" if target == "p4runtime" else f"fuzz_{target}" for target in targets]
    for command in (
        (*configure, f"-DPython_EXECUTABLE={sys.executable}"),
        ("cmake", "--build", _BUILD, "--target", *wanted),
    ):
        if subprocess.run(command, env=tools, check=False).returncode != 0:
            raise FuzzError("the targets do not build; see above")


def _run(target: str, minutes: float, more: list[Path]) -> int:
    """One target until its time is up or it finds something."""
    corpus, result = _BUILD / "corpus" / target, _BUILD / "found"
    corpus.mkdir(parents=True, exist_ok=True)
    result.mkdir(parents=True, exist_ok=True)
    folders = [corpus]
    environment = os.environ | {"UBSAN_OPTIONS": "print_stacktrace=1"}
    command: list[str | Path] = [_BUILD / f"fuzz_{target}"]
    if target == "program":
        folders.append(_seeds((*_PROGRAMS, *more)))
    elif target == "frames":
        environment["RAILYARD_FUZZ_PROGRAMS"] = ":".join(map(str, (*_PROGRAMS, *more)))
    elif target == "formats":
        command = [sys.executable, "-m", "tests.fuzz.fuzz_formats"]
        folders.append(_samples())
    else:
        command = [sys.executable, "-m", "tests.fuzz.fuzz_p4runtime"]
        environment |= _sanitized()
    options = (*_OPTIONS, f"-max_len={_LONGEST[target]}", f"-max_total_time={round(60 * minutes)}")
    log = _BUILD / f"{target}.log"
    print(f"fuzz: {target} for {minutes:g} minutes; its log is {log}", flush=True)
    with log.open("w") as out:
        done = subprocess.run(
            [*command, *folders, *options, f"-artifact_prefix={result}/{target}-"],
            cwd=_ROOT,
            env=environment,
            stdout=out,
            stderr=subprocess.STDOUT,
            check=False,
        )
    last = _LAST.search(log.read_text(errors="replace"))
    if done.returncode != 0 or last is None:
        print(f"fuzz: {target} failed: the end of its log says why, and the input is under {result}")
        return 1
    print(f"fuzz: {target}: {int(last[1]):,} executions, {int(last[2]):,} edges, nothing found")
    return 0


def _sanitized() -> dict[str, str]:
    """The engine with sanitizers, and their runtime, which must be in the process from the start."""
    modules = sorted(_BUILD.glob("_engine*.so"))
    spec = importlib.util.find_spec("atheris")
    assert spec is not None
    assert spec.origin is not None
    runtime = Path(spec.origin).parents[1] / "asan_with_fuzzer.so"
    if not modules or not runtime.exists():
        print("fuzz: p4runtime runs on the installed engine: no module, or no runtime, with sanitizers")
        return {}
    return {
        "RAILYARD_FUZZ_ENGINE": str(modules[0]),
        "LD_PRELOAD": str(runtime),
        "ASAN_OPTIONS": "detect_leaks=0:detect_odr_violation=0",
    }


def _seeds(folders: Iterable[Path]) -> Path:
    """The programs without their references to sources: half the bytes, and all of the meaning."""
    seeds = _BUILD / "seeds"
    shutil.rmtree(seeds, ignore_errors=True)
    seeds.mkdir()
    for folder in folders:
        for file in folder.glob("*.json"):
            if file.name != "MANIFEST.json":
                plain = _without(json.loads(file.read_bytes()), {"source_info", "__meta__"})
                (seeds / file.name).write_text(json.dumps(plain, separators=(",", ":")))
    return seeds


def _samples() -> Path:
    """A small file of each format."""
    from tests.fuzz.formats_target import seeds

    folder = _BUILD / "samples"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, data in seeds():
        (folder / name).write_bytes(data)
    return folder


def _without(node: Any, keys: set[str]) -> Any:
    if isinstance(node, dict):
        return {key: _without(value, keys) for key, value in node.items() if key not in keys}
    return [_without(item, keys) for item in node] if isinstance(node, list) else node


if __name__ == "__main__":
    sys.exit(main())
