# SPDX-License-Identifier: Apache-2.0
"""A build of the engine on a machine that lacks a compiler or a header says what to install."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def configured(folder: Path, path: str, *options: str) -> str:
    """Return, as one line, why CMake refuses to configure the engine with programs of `path` only."""
    cmake, ninja = (shutil.which(name, path=f"{Path(sys.executable).parent}") for name in ("cmake", "ninja"))
    if cmake is None or ninja is None:
        pytest.skip("CMake and Ninja are not installed in this environment: `make setup`")
    command = [cmake, "-S", ROOT, "-B", folder / "build", "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}"]
    command += [f"-DPython_EXECUTABLE={sys.executable}", *options]
    done = subprocess.run(command, env={"PATH": path}, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    return " ".join(done.stderr.split())


def test_without_a_compiler(tmp_path: Path):
    said = configured(tmp_path, str(tmp_path))
    assert "there is no C++ compiler. Install one (Debian, Ubuntu: apt-get install g++" in said
    assert "or install a wheel of Railyard, which needs none." in said


def test_without_the_library_for_json(tmp_path: Path):
    if shutil.which("c++") is None:
        pytest.skip("there is no C++ compiler")
    said = configured(tmp_path, "/usr/bin:/bin", "-DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON")
    assert "needs nlohmann-json 3.10 or later. Install it (Debian, Ubuntu: apt-get install" in said
