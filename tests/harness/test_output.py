import os
from pathlib import Path

import pytest

from harness.errors import OutputError
from harness.output import output_folder


def test_files_appear_whole_and_leave_no_temporary_file(tmp_path: Path):
    with output_folder(tmp_path / "a" / "b") as folder:
        folder.write("x.json", "one")
        folder.write("x.json", "two")
    assert (tmp_path / "a" / "b" / "x.json").read_text() == "two"
    assert [path.name for path in (tmp_path / "a" / "b").iterdir()] == ["x.json"]


def test_folders_made_for_a_run_that_fails_are_taken_away(tmp_path: Path):
    with pytest.raises(RuntimeError), output_folder(tmp_path / "a" / "b"):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_folders_that_were_there_stay(tmp_path: Path):
    kept = tmp_path / "a"
    kept.mkdir()
    with pytest.raises(RuntimeError), output_folder(kept / "b" / "c"):
        raise RuntimeError
    assert list(kept.iterdir()) == []


def test_a_place_that_cannot_be_is_found_at_once(tmp_path: Path):
    (tmp_path / "file").write_text("")
    told = r"results cannot be written: .*; give another folder with --out"
    with pytest.raises(OutputError, match=told), output_folder(tmp_path / "file" / "results"):
        pytest.fail("nothing may start")
    with pytest.raises(OutputError), output_folder(tmp_path / "file"):
        pytest.fail("nothing may start")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_found_at_once(tmp_path: Path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(OutputError, match="Permission denied"), output_folder(tmp_path / "results"):
            pytest.fail("nothing may start")
    finally:
        tmp_path.chmod(0o700)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path):
    (tmp_path / "x.json").mkdir()
    with pytest.raises(OutputError), output_folder(tmp_path) as folder:
        folder.write("x.json", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]
