# SPDX-License-Identifier: Apache-2.0
"""A paper's artifact: the study of the guide as written, bundled, opened elsewhere and compared."""

import json
import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

Railyard = Callable[..., tuple[int, str, str]]

GUIDE = Path(__file__).parents[3] / "docs" / "use" / "artifact.md"
FILE = re.compile(r"`([\w.]+)`:\n\n```\w+\n(.*?)```", re.DOTALL)


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """The folder of the guide's files."""
    folder = tmp_path / "study"
    folder.mkdir()
    for name, text in FILE.findall(GUIDE.read_text(encoding="utf-8")):
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def packed(railyard: Railyard, study: Path) -> Path:
    """A bundle of the study, whose files are gone."""
    code, out, _ = railyard("experiments", study / "claims.yaml", "--jobs", "1")
    assert code == 0, out
    assert railyard("bundle", study / "claims.yaml") == (0, "written: ring-study.railyard\n", "")
    shutil.rmtree(study)
    shutil.rmtree("results")
    return Path("ring-study.railyard")


def changed(packed: Path, name: str, old: str, new: str, *, hashed: bool = True) -> Path:
    """Write the bundle with a file of it changed, and its hash as well."""
    from harness.scenario.digest import sha256

    with zipfile.ZipFile(packed) as bundle:
        content = {item: bundle.read(item) for item in bundle.namelist()}
    content[name] = content[name].replace(old.encode(), new.encode())
    about = json.loads(content["bundle.json"])
    if hashed:
        about["sha256"][name] = sha256(content[name])
        content["bundle.json"] = json.dumps(about).encode()
    with zipfile.ZipFile("changed.railyard", "w") as bundle:
        for item, data in content.items():
            bundle.writestr(item, data)
    return Path("changed.railyard")


def test_the_study_of_the_guide_holds_and_its_mutations_turn(railyard: Railyard, study: Path):
    code, out, _ = railyard("experiments", study / "claims.yaml", "--jobs", "1")
    assert code == 0
    assert "2 of 3 figures that the paper states hold; 1 known to differ" in out
    code, out, _ = railyard("experiments", study / "claims.yaml", "--jobs", "1", "--mutate")
    assert code == 0
    assert "4 of 4 mutations turn the verdict of their claim" in out


def test_a_bundle_needs_nothing_else_and_all_its_figures_are_equal(railyard: Railyard, packed: Path):
    with zipfile.ZipFile(packed) as bundle:
        names = {*bundle.namelist()}
    assert names >= {"claims.yaml", "scenario.yaml", "model.py", "bundle.json", "results/experiments.json"}
    code, out, _ = railyard("experiments", packed, "--jobs", "1")
    assert code == 0
    assert f"{packed}: 4 equal, 0 within, 0 out" in out
    assert (Path("results") / "ring-study-replay" / "experiments.html").is_file()


@pytest.mark.parametrize(
    ("old", "new", "told", "code"),
    [
        ("100 * used", "100.2 * used", "3 equal, 1 within, 0 out", 0),
        ("100 * used", "90 * used", "3 equal, 0 within, 1 out", 1),
    ],
)
def test_another_figure_is_within_or_out(
    railyard: Railyard, packed: Path, old: str, new: str, told: str, code: int
):
    result, out, _ = railyard("experiments", changed(packed, "model.py", old, new), "--jobs", "1")
    assert told in out
    assert result == code


def test_a_file_that_is_not_the_one_packed_is_refused(railyard: Railyard, packed: Path):
    damaged = changed(packed, "model.py", "100 * used", "90 * used", hashed=False)
    code, _, err = railyard("experiments", damaged)
    assert code == 2
    assert "model.py differs from the file that was packed; get the bundle again" in err


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("      ports: {text", "      more: {text", "differ from those of"),
        ("scenario: scenario.yaml", "scenario: ../scenario.yaml", "outside of the folder"),
        ("name: ring-study", "name: other-study", "no such file"),
    ],
)
def test_what_cannot_be_packed(railyard: Railyard, study: Path, old: str, new: str, told: str):
    claims = study / "claims.yaml"
    assert railyard("experiments", claims, "--jobs", "1")[0] == 0
    shutil.copy(study / "scenario.yaml", study.parent)
    claims.write_text(claims.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    code, _, err = railyard("bundle", claims)
    assert code in (2, 3)
    assert told in err.lower()
    assert not list(Path().glob("*.railyard"))
