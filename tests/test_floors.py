# SPDX-License-Identifier: Apache-2.0
"""Each room imports only from itself and from rooms below, and says in one place what it offers.

Imports inside functions and for type checkers count like all others.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import networkx
import pytest

ROOT = Path(__file__).resolve().parent.parent
FLOORS = ("topologies", "controller", "emulation", "harness", "papers", "railyard")
MODULES = [path.relative_to(ROOT) for room in FLOORS for path in sorted((ROOT / room).rglob("*.py"))]
STUBS = [path.relative_to(ROOT) for room in FLOORS for path in sorted((ROOT / room).rglob("*.pyi"))]
LATE_IMPORTS = ("papers", "railyard")
"""Floors whose functions may import modules of ours: verbs of the command, and modules that need Scapy."""

Graph = Mapping[str, set[str]]


def parsed(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"), filename=str(path))


class Facts(NamedTuple):
    """Answers about a module; trees of all modules would take hundreds of times the memory.

    `imports` has its imports wherever they stand, `late` those that do not stand at its top.
    """

    imports: ast.Module
    late: ast.Module
    started: frozenset[str]
    listed: list[str] | None
    bound: frozenset[str]


@cache
def facts(path: Path) -> Facts:
    tree = parsed(path)
    top = {id(node) for node in tree.body}
    imports: list[ast.stmt] = [
        node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    late = [node for node in imports if id(node) not in top]
    return Facts(
        ast.Module(imports, []),
        ast.Module(late, []),
        frozenset(started(tree)),
        listed(tree),
        frozenset(bound(tree, modules=True)),
    )


def imported(tree: ast.AST) -> Iterator[str]:
    """First names of what code imports, wherever the import stands; a relative one stays in its room."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.split(".")[0]


def name_of(path: Path) -> str:
    """Dotted name of a module; that of a package for its `__init__`."""
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {name_of(path) for path in (*MODULES, *STUBS)}


def imported_modules(tree: ast.AST, path: Path, names: Iterable[str]) -> set[str]:
    """Modules of `names` that code at `path` imports; a name of a package leads to its `__init__`."""
    package = path.parent.parts
    modules = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            source = ".".join((*above, *([node.module] if node.module else [])))
            inside = {alias.name: f"{source}.{alias.name}" for alias in node.names}
            modules |= {module if module in names else source for module in inside.values()}
    return (modules & set(names)) - {name_of(path)}


@cache
def graph_of(floor: str) -> Graph:
    """Modules of a floor that each module of the floor imports."""
    paths = {name_of(path): path for path in MODULES if path.parts[0] == floor}
    return {name: imported_modules(facts(path).imports, path, set(paths)) for name, path in paths.items()}


def circles(graph: Graph) -> list[list[str]]:
    """Members of a graph that lead to each other: its strongly connected components of more than one."""
    imports = [(name, other) for name, others in graph.items() for other in others]
    parts = networkx.strongly_connected_components(networkx.DiGraph(imports))
    return sorted(sorted(part) for part in parts if len(part) > 1)


def contracted(graph: Graph, room: str) -> Graph:
    """The graph of what a room holds: each file and each room in it is one member."""

    def member(module: str) -> str | None:
        return module[len(room) + 1 :].split(".")[0] if module.startswith(room + ".") else None

    inside: dict[str, set[str]] = {}
    for module, others in graph.items():
        if (own := member(module)) is not None:
            inside.setdefault(own, set()).update(
                name for other in others if (name := member(other)) is not None and name != own
            )
    return inside


def order_of(floor: str) -> list[str] | None:
    """Rooms in the order that the floor's docstring gives, lowest first; None without that line."""
    text = ast.get_docstring(parsed(Path(floor, "__init__.py"))) or ""
    line = re.search(r"Order of the rooms:([^.]*)\.(?:\s|$)", text)
    return [name.strip() for name in line[1].split(",")] if line else None


def ordered(floor: str) -> list[str]:
    """`order_of` for a test."""
    order = order_of(floor)
    assert order is not None, f'{floor}/__init__.py has no line "Order of the rooms: a, b, c."'
    return order


def upward(tree: ast.AST, path: Path, order: list[str]) -> list[str]:
    """Rooms above its own from which a file imports; the floor's `__init__` and `__main__` are above all."""
    floor = path.parts[0]
    rank = {name: number for number, name in enumerate(order)}
    own = Path(path.parts[1]).stem
    if own.startswith("__"):
        return []
    names = {name for name in NAMES if name.split(".")[0] == floor}
    rooms = {[*module.split("."), "__init__"][1] for module in imported_modules(tree, path, names)}
    return sorted(room for room in rooms if rank.get(room, len(order)) > rank[own])


def started(tree: ast.AST) -> Iterator[str]:
    """First names of modules that strings of code would start or import in another process, or by name.

    A string is a module's name if it has a dot and the module exists, or if it stands behind `-m`; it is code
    if an import begins a line or a statement; a command is a list whose first string is the program.
    """
    nodes = list(ast.walk(tree))
    documentation = {
        id(node.body[0].value)
        for node in nodes
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            if "." in node.value and node.value in NAMES:
                yield node.value.split(".")[0]
            for code in re.finditer(
                r"(?:^|[\n;])\s*(?:import|from)\s+(\w+)[\w.]*(?=\s*(?:$|[\n;,]|import\b))", node.value
            ):
                yield code[1]
        row = [*node.elts] if isinstance(node, ast.List | ast.Tuple) else []
        row = [*node.args] if isinstance(node, ast.Call) else row
        words = [item.value if isinstance(item, ast.Constant) else None for item in row]
        yield from (
            after.split(".")[0]
            for before, after in pairwise(words)
            if before == "-m" and isinstance(after, str)
        )
        if isinstance(node, ast.List) and len(words) > 1 and isinstance(words[0], str):
            yield Path(words[0]).name


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


def test_no_import_climbs() -> None:
    breaking = {str(path): climbs(facts(path).imports, path.parts[0]) for path in MODULES}
    assert {path: names for path, names in breaking.items() if names} == {}


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


@pytest.mark.parametrize("floor", FLOORS)
def test_the_order_of_a_floor_names_each_of_its_rooms(floor: str) -> None:
    rooms = {Path(path.parts[1]).stem for path in (*MODULES, *STUBS) if path.parts[0] == floor}
    assert sorted(ordered(floor)) == sorted(rooms - {"__init__"})


@pytest.mark.parametrize("floor", FLOORS)
def test_a_file_imports_only_from_its_room_and_rooms_before(floor: str) -> None:
    order = ordered(floor)
    climbing = {
        str(path): above
        for path in MODULES
        if path.parts[0] == floor and (above := upward(facts(path).imports, path, order))
    }
    assert climbing == {}


@pytest.mark.parametrize("floor", FLOORS)
def test_no_files_import_each_other_in_a_circle(floor: str) -> None:
    ordered(floor)
    assert circles(graph_of(floor)) == []


@pytest.mark.parametrize("floor", FLOORS)
def test_no_rooms_import_each_other_in_a_circle(floor: str) -> None:
    ordered(floor)
    graph = graph_of(floor)
    packages = [name_of(path) for path in MODULES if path.parts[0] == floor and path.name == "__init__.py"]
    inside = {package: circles(contracted(graph, package)) for package in packages}
    assert {package: rooms for package, rooms in inside.items() if rooms} == {}


def test_imports_of_our_modules_stand_at_the_top() -> None:
    breaking: dict[str, list[str]] = {}
    for path in (path for path in MODULES if path.parts[0] not in LATE_IMPORTS):
        breaking[str(path)] = [name for name in imported(facts(path).late) if name in FLOORS]
    assert {path: names for path, names in breaking.items() if names} == {}


def test_nobody_starts_a_program_of_a_higher_floor() -> None:
    breaking: dict[str, set[str]] = {}
    for path in MODULES:
        names = {name for name in facts(path).started if name in FLOORS}
        breaking[str(path)] = {name for name in names if FLOORS.index(name) > FLOORS.index(path.parts[0])}
    assert {path: names for path, names in breaking.items() if names} == {}


def test_a_circle_would_be_found() -> None:
    graph = {"a.x": {"a.y.one"}, "a.y.one": {"b"}, "a.y.two": {"a.x"}, "b": set()}
    assert circles(graph) == []
    assert circles(contracted(graph, "a")) == [["x", "y"]]
    assert circles({**graph, "b": {"a.x"}}) == [["a.x", "a.y.one", "b"]]


@pytest.mark.parametrize(
    ("source", "above"),
    [
        ("def f():\n    import harness.report.page", ["report"]),
        ("if TYPE_CHECKING:\n    from harness.report import page", ["report"]),
        ("from harness import report", ["report"]),
        ("from ..report.page import write", ["report"]),
        ("from . import runner\nfrom .. import errors\nfrom harness.scenario import schema", []),
    ],
)
def test_an_import_of_a_higher_room_would_be_found(source: str, above: list[str]) -> None:
    order = ["errors", "scenario", "run", "report"]
    assert upward(ast.parse(source), Path("harness/run/runner.py"), order) == above


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ('run([sys.executable, "-m", "railyard.cli", *words])', ["railyard", "railyard"]),
        ('machine.command("-m", "railyard", "clean")', ["railyard"]),
        ('run(["railyard", "clean"])', ["railyard"]),
        ('importlib.import_module("railyard.cli")', ["railyard"]),
        ('run([python, "-c", "import sys; from railyard import run"])', ["sys", "railyard"]),
        ('"""Import railyard.\n\n    import railyard\n"""\nsay("see `railyard clean`", "railyard")', []),
    ],
)
def test_a_start_of_a_program_would_be_found(source: str, names: list[str]) -> None:
    assert list(started(ast.parse(source))) == names


@pytest.mark.parametrize("room", FLOORS)
def test_a_room_opens_with_its_floor_plan_and_lists_its_public_names(room: str) -> None:
    tree = parsed(Path(room, "__init__.py"))
    assert (ast.get_docstring(tree) or "").startswith(f"Floor {FLOORS.index(room) + 1}")
    names = listed(tree) or []
    assert len(names) == len(set(names))
    assert set(names) == {name for name in bound(tree) if not name.startswith("_")}


def test_a_module_lists_only_names_it_has() -> None:
    breaking = {str(path): set(facts(path).listed or []) - facts(path).bound for path in MODULES}
    assert {path: names for path, names in breaking.items() if names} == {}
