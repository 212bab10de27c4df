"""The committed compiler output belongs to the sources beside it."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]
PLACES = (
    "p4",
    "tests/programs",
    "tests/v1model",
    "labs/01_source_route",
    "labs/07_dual_tor",
    "labs/09_reduction",
)


@pytest.fixture(scope="module")
def manifest() -> ModuleType:
    """scripts/p4_manifest.py, which is a program and in no package."""
    spec = importlib.util.spec_from_file_location("p4_manifest", ROOT / "scripts" / "p4_manifest.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A program, its source in two files, and what a compiler on some machine made of it."""
    (tmp_path / "include").mkdir()
    (tmp_path / "build").mkdir()
    (tmp_path / "one.p4").write_text("// one\n")
    (tmp_path / "include" / "size.p4").write_text("// size\n")
    places = [{"filename": "/usr/share/p4c/p4include/v1model.p4"}, {"filename": str(tmp_path / "one.p4")}]
    program = {
        "program": str(ROOT / "p4" / "one.p4"),
        "parsers": [{"source_info": place} for place in places],
    }
    (tmp_path / "build" / "one.json").write_text(json.dumps(program))
    (tmp_path / "build" / "one.p4info.txtpb").write_text("pkg_info {}\n")
    return tmp_path


def record(manifest: ModuleType, folder: Path) -> None:
    (folder / "build" / "MANIFEST.json").write_text(json.dumps(manifest.manifest(folder)))


@pytest.mark.parametrize("place", PLACES)
def test_the_committed_output_is_current(manifest: ModuleType, place: str):
    assert manifest.differences(ROOT / place) == []


@pytest.mark.parametrize("place", PLACES)
def test_the_committed_output_names_no_path_of_a_machine(manifest: ModuleType, place: str):
    for path in sorted((ROOT / place / "build").glob("*.json")):
        if path.name != manifest.MANIFEST:
            program = json.loads(path.read_text())
            named = [
                program["program"],
                *(info.get("filename", "") for info in manifest.source_infos(program)),
            ]
            assert [name for name in named if name.startswith("/")] == []


def test_every_place_is_compiled_and_compared(manifest: ModuleType):
    assert tuple(ROOT / place for place in PLACES) == manifest.FOLDERS


def test_what_has_just_been_recorded_is_current(manifest: ModuleType, folder: Path):
    record(manifest, folder)
    assert manifest.differences(folder) == []


def test_every_kind_of_change_is_named(manifest: ModuleType, folder: Path):
    record(manifest, folder)
    (folder / "one.p4").write_text("// changed\n")
    (folder / "two.p4").write_text("// two\n")
    (folder / "include" / "size.p4").unlink()
    (folder / "build" / "one.json").write_text("{}")
    assert manifest.differences(folder) == [
        "source include/size.p4: gone",
        "source one.p4: changed",
        "source two.p4: new",
        "output one.json: changed",
    ]


def test_a_manifest_that_cannot_be_read_is_stale(manifest: ModuleType, folder: Path):
    assert manifest.differences(folder)
    (folder / "build" / "MANIFEST.json").write_text("{")
    assert manifest.differences(folder)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("p4/ub_npu.p4", "p4/ub_npu.p4"),
        ("/home/someone/railyard/p4/control/deliver.p4", "p4/control/deliver.p4"),
        ("p4/control/route/../refuse.p4", "p4/control/refuse.p4"),
        ("/usr/local/share/p4c/p4include/core.p4", "p4include/core.p4"),
    ],
)
def test_paths_are_written_as_any_machine_would(manifest: ModuleType, name: str, expected: str):
    assert manifest.portable(name, Path("/home/someone/railyard")) == expected
