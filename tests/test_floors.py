# SPDX-License-Identifier: Apache-2.0
"""Each room imports only from itself and from floors below, and says in one place what it offers."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FLOORS = ("topologies", "controller", "emulation", "harness", "papers", "railyard")
MODULES = [path.relative_to(ROOT) for room in FLOORS for path in sorted((ROOT / room).rglob("*.py"))]


def parsed(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"), filename=str(path))


def imported(tree: ast.AST) -> Iterator[str]:
    """First names of what code imports, wherever the import stands; a relative one stays in its room."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.split(".")[0]


def climbs(tree: ast.AST, room: str) -> list[str]:
    return [name for name in imported(tree) if name in FLOORS and FLOORS.index(name) > FLOORS.index(room)]


def bound(tree: ast.Module, *, modules: bool = False) -> set[str]:
    """Names that a module binds at its top; without `modules`, not those of a plain import.

    Names imported for type checkers alone count too: a module may import them when they are first used.
    """
    names: set[str] = set()
    tops = list(tree.body)
    for block in tree.body:
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.dump(block.test):
            tops += block.body
    for node in tops:
        if isinstance(node, ast.ImportFrom) or (modules and isinstance(node, ast.Import)):
            names |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {
                name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)
            }
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return names


def listed(tree: ast.Module) -> list[str] | None:
    """The literal value of `__all__`, or None where there is none."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets
        ):
            return ast.literal_eval(node.value)
    return None


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_no_import_climbs(path: Path) -> None:
    assert climbs(parsed(path), path.parts[0]) == []


@pytest.mark.parametrize(
    ("source", "climbing"),
    [
        ("import railyard.cli", ["railyard"]),
        ("from emulation.traffic import frames", ["emulation"]),
        ("def f():\n    import harness", ["harness"]),
        ("from topologies import Fabric\nfrom .plan import Plan\nimport networkx", []),
    ],
)
def test_a_climb_would_be_found(source: str, climbing: list[str]) -> None:
    assert climbs(ast.parse(source), "controller") == climbing


@pytest.mark.parametrize("room", FLOORS)
def test_a_room_opens_with_its_floor_plan_and_lists_its_public_names(room: str) -> None:
    tree = parsed(Path(room, "__init__.py"))
    assert (ast.get_docstring(tree) or "").startswith(f"Floor {FLOORS.index(room) + 1}")
    names = listed(tree) or []
    assert len(names) == len(set(names))
    assert set(names) == {name for name in bound(tree) if not name.startswith("_")}


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_a_module_lists_only_names_it_has(path: Path) -> None:
    tree = parsed(path)
    assert set(listed(tree) or []) <= bound(tree, modules=True)
