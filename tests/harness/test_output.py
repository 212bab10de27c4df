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


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to another user")
class TestRunsWithSudo:
    """A run with sudo, as on the Mininet testbed, leaves no files that its caller cannot remove."""

    @pytest.fixture(autouse=True)
    def _called_by_user_1234(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("SUDO_UID", "1234")
        monkeypatch.setenv("SUDO_GID", "1235")

    def test_what_the_run_makes_belongs_to_the_caller(self, tmp_path: Path):
        with output_folder(tmp_path / "results" / "x") as folder:
            folder.write("result.json", "{}")
            (folder.path / "captures").mkdir()
            (folder.path / "captures" / "a.pcap").write_bytes(b"")
        for name in ("results", "results/x", "results/x/result.json", "results/x/captures/a.pcap"):
            status = (tmp_path / name).stat()
            assert (status.st_uid, status.st_gid) == (1234, 1235), name
        assert tmp_path.stat().st_uid == 0

    def test_a_second_run_gives_its_files_as_well_and_takes_none_of_others(self, tmp_path: Path):
        for _ in range(2):
            with output_folder(tmp_path / "x") as folder:
                folder.write("result.json", "{}")
        (tmp_path / "x" / "of another").write_text("")
        os.chown(tmp_path / "x" / "of another", 4321, 4321)
        with output_folder(tmp_path / "x"):
            pass
        assert (tmp_path / "x" / "result.json").stat().st_uid == 1234
        assert (tmp_path / "x" / "of another").stat().st_uid == 4321

    def test_a_folder_of_roots_own_stays_roots(self, tmp_path: Path):
        (tmp_path / "etc").mkdir()
        with output_folder(tmp_path / "etc") as folder:
            folder.write("result.json", "{}")
        assert (tmp_path / "etc" / "result.json").stat().st_uid == 0

    def test_links_are_not_followed_and_files_with_another_name_stay(self, tmp_path: Path):
        (tmp_path / "secret").write_text("")
        with output_folder(tmp_path / "x") as folder:
            (folder.path / "link").symlink_to(tmp_path / "secret")
            (folder.path / "same").hardlink_to(tmp_path / "secret")
        assert (tmp_path / "secret").stat().st_uid == 0

    def test_a_run_of_root_itself_keeps_its_files(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.delenv("SUDO_UID")
        with output_folder(tmp_path / "x") as folder:
            folder.write("result.json", "{}")
        assert (tmp_path / "x" / "result.json").stat().st_uid == 0
