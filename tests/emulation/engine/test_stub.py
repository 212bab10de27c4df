# SPDX-License-Identifier: Apache-2.0
"""`emulation/_engine.pyi` is what nanobind's generator makes of the bindings: `make stub` writes it."""

import ast
import inspect
import sys
from pathlib import Path
from subprocess import run

import pytest

from emulation import _engine

ROOT = Path(__file__).parents[3]
STUB = ROOT / "emulation" / "_engine.pyi"


def sentences(stub: Path) -> str:
    """Return the code of a stub with docstrings as they read, however their lines are indented."""
    tree = ast.parse(stub.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = inspect.cleandoc(node.value).strip()
    return ast.unparse(tree)


@pytest.mark.skipif(not hasattr(_engine, "Wire"), reason="the stub describes the engine of Linux")
def test_the_stub_is_what_the_bindings_say(tmp_path: Path) -> None:
    pytest.importorskip("nanobind")
    generated = tmp_path / "_engine.pyi"
    patterns = ROOT / "emulation" / "engine" / "python" / "stub.pat"
    command = (sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "emulation._engine")
    run((*command, "-p", patterns, "-o", generated), check=True, cwd=ROOT)
    assert sentences(STUB) == sentences(generated), "emulation/_engine.pyi is not current; run `make stub`"


def test_no_name_of_the_stub_is_without_a_meaning() -> None:
    """Arguments that a binding leaves unnamed come out as arg0: a sentence of the stub that says nothing."""
    functions = [node for node in ast.walk(ast.parse(STUB.read_text())) if isinstance(node, ast.FunctionDef)]
    assert len(functions) > 150
    unnamed = {
        function.name
        for function in functions
        for argument in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
        if argument.arg.startswith("arg")
    }
    assert unnamed == set()
