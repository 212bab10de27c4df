# SPDX-License-Identifier: Apache-2.0
"""Scenarios that come with Railyard, by name."""

from pathlib import Path

import pytest

from harness.errors import ScenarioError
from harness.files import EXPERIMENTS
from harness.scenario.document import Document
from harness.scenario.library import file_of, named_files, scenario_files


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)


def test_a_scenario_goes_by_its_name_and_by_that_of_its_folder():
    first = EXPERIMENTS / "01_first_train" / "scenario.yaml"
    assert file_of(Path("first-train")) == file_of(Path("01_first_train")) == first
    assert file_of(Path("every-link")) == EXPERIMENTS / "01_first_train" / "every_link.yaml"
    assert file_of(Path("intra-rack")) == EXPERIMENTS / "04_intra_rack" / "model.yaml"


def test_every_file_has_a_name_of_its_own():
    files = scenario_files()
    by_name = {Document(path).values["name"]: path for path in files}
    assert len(by_name) == len(files)
    named = named_files()
    assert {name: named[name] for name in by_name} == by_name


@pytest.mark.parametrize("name", ["first-train", "01_first_train", "mine.yaml"])
def test_a_path_that_exists_wins(name: str):
    Path(name).touch()
    assert file_of(Path(name)) == Path(name)


@pytest.mark.parametrize("name", ["first-train.yaml", "results/first-train", "/first-train", "mine.railyard"])
def test_a_path_with_a_folder_or_a_suffix_is_no_name(name: str):
    assert file_of(Path(name)) == Path(name)


def test_a_name_that_is_none_is_refused_with_the_closest():
    message = "first-trane is neither a file nor the name of a scenario; did you mean 'first-train'"
    with pytest.raises(ScenarioError, match=message):
        file_of(Path("first-trane"))
    with pytest.raises(ScenarioError, match="`railyard list` shows the names"):
        file_of(Path("xyz"))
