# SPDX-License-Identifier: Apache-2.0
"""Everything that a run made is removed with it, however it ended; nothing else is."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulation.errors import TestbedError
from emulation.linux import netns, processes
from emulation.linux.record import RunRecord, clean, cleaning, living, noted
from emulation.mininet.links.cross_connect import CrossConnect
from emulation.mininet.links.endpoints import Endpoint
from tests.emulation.mininet.benches import SECONDS, no_rights, until
from tests.emulation.mininet.foreign import Foreign
from tests.emulation.switchd.switchd_process import ROOT

reason = no_rights()
pytestmark = pytest.mark.skipif(bool(reason), reason=reason)

KILLS = int(os.environ.get("RAILYARD_KILLS", "8"))
"""Number of times that the builder is killed, each at another moment."""


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    root = tmp_path / "runs"
    yield root
    for folder in noted.folders(root):  # also of a test that has failed, whose process lives
        cleaning.clean_up(folder)


@pytest.fixture
def foreign(tmp_path: Path) -> Iterator[Foreign]:
    with Foreign(tmp_path) as foreign:
        yield foreign
        foreign.check()


def lines(run: RunRecord) -> list[dict[str, object]]:
    return [json.loads(line) for line in (run.folder / "record").read_text().splitlines()]


def disown(run: RunRecord, **changes: object) -> None:
    """Have the record say that someone else, long gone, has made the run."""
    first, *rest = lines(run)
    changes = changes or {"started": 1}
    (run.folder / "record").write_text("".join(json.dumps(line) + "\n" for line in [first | changes, *rest]))


def namespaces_of(run: str) -> list[str]:
    return [path.name for path in netns.DIRECTORY.glob(f"railyard-{run}-*")]


def sleeper(run: RunRecord, *command: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command or ("sleep", "1000"), env=run.environment())


# -- a run that ends


def test_all_of_a_run_goes_with_it(root: Path, tmp_path: Path, foreign: Foreign) -> None:
    run = RunRecord.create(root)
    full = run.namespace("npu0")
    assert full == f"railyard-{run.id}-npu0"
    assert netns.identity(full)
    file = tmp_path / "trace"
    run.note_file(file)
    run.note_file(tmp_path / "never made")
    file.write_text("x")
    (run.folder / "sub").mkdir()
    (run.folder / "sub" / "log").write_text("x")
    process = sleeper(run)
    run.close()
    assert process.wait(SECONDS) == -signal.SIGTERM
    assert not run.folder.exists()
    assert not file.exists()
    assert namespaces_of(run.id) == []
    assert not root.exists()
    run.close()


def test_a_thing_is_noted_before_it_is_made(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noted: list[object] = []
    run = RunRecord.create(root)
    monkeypatch.setattr(netns, "create", lambda name: noted.append(lines(run)[-1]))
    name = run.namespace("links")
    assert noted == [{"what": "namespace", "name": name}]
    run.close()


def test_descendants_are_found_and_stubborn_ones_killed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "GRACE", 0.3)
    run = RunRecord.create(root)
    script = "trap '' TERM; setsid sleep 1001 & (sleep 1002 &) ; while true; do sleep 1003; done"
    process = sleeper(run, "sh", "-c", script)
    until(lambda: len(processes.carrying(run.token)) == 4)
    run.close()
    assert process.wait(SECONDS) == -signal.SIGKILL
    assert not processes.carrying(run.token)


def test_what_is_there_already_is_not_taken_for_ours(root: Path, tmp_path: Path) -> None:
    with RunRecord.create(root) as run:
        other = f"railyard-{run.id}-other"
        netns.create(other)
        (tmp_path / "file").write_text("x")
        try:
            with pytest.raises(TestbedError, match=f"{other} exists already"):
                run.namespace("other")
            with pytest.raises(TestbedError, match="file exists already"):
                run.note_file(tmp_path / "file")
            run.close()
            assert namespaces_of(run.id) == [other]
            assert (tmp_path / "file").exists()
        finally:
            netns.remove(other)


def test_an_interrupted_beginning_leaves_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    for owner, name in ((os, "fsync"), (RunRecord, "_note"), (Path, "rename")):
        with monkeypatch.context() as context:
            context.setattr(owner, name, interrupted)
            with pytest.raises(KeyboardInterrupt):
                RunRecord.create(root)
        assert not root.exists()


def test_a_fork_of_the_owner_leaves_the_run_alone(root: Path) -> None:
    run = RunRecord.create(root)
    child = os.fork()
    if child == 0:
        try:
            run.close()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert run.folder.exists()
    run.close()


# -- cleaning


def test_living_runs_go_on(root: Path) -> None:
    with RunRecord.create(root) as run:
        run.namespace("a")
        assert clean(root=root) == []
        assert living(root) == [(run.id, os.getpid())]
        assert namespaces_of(run.id)


@pytest.mark.parametrize("owner", [{"started": 1}, {"pid": 1 << 22}, {"boot": "of yesterday"}])
def test_a_run_whose_owner_is_gone(root: Path, foreign: Foreign, owner: dict[str, object]) -> None:
    run = RunRecord.create(root)
    name = run.namespace("a")
    process = sleeper(run)
    disown(run, **owner)
    assert living(root) == []
    (foreseen,) = clean(dry_run=True, root=root)
    assert namespaces_of(run.id) == [name]
    (cleaned,) = clean(root=root)
    assert cleaned == foreseen
    assert cleaned.removed == (
        f"process {process.pid} (sleep)", f"namespace {name}", f"folder {run.folder}",
    )  # fmt: skip
    process.wait(SECONDS)
    assert namespaces_of(run.id) == []
    assert clean(root=root) == []


def test_a_living_run_ends_when_asked(root: Path, tmp_path: Path) -> None:
    builder = start_builder(root, tmp_path / "file")
    until(lambda: bool(living(root)))
    ((run, pid),) = living(root)
    assert pid == builder.pid
    (cleaned,) = clean(True, root=root)
    assert cleaned.left == ()
    assert f"process {pid}" in cleaned.removed[0]
    builder.wait(SECONDS)
    assert namespaces_of(run) == []


def test_a_run_cannot_end_itself_by_cleaning(root: Path) -> None:
    with RunRecord.create(root) as run:
        (cleaned,) = clean(True, root=root)
        assert "this very command is part of it" in cleaned.left[0]
        assert run.folder.exists()


def test_a_foreigner_in_our_namespace_stays_alive_and_is_named(root: Path, foreign: Foreign) -> None:
    run = RunRecord.create(root)
    held, connections, free = run.namespace("held"), run.namespace("links"), run.namespace("free")
    cross_connect = CrossConnect(connections)
    cross_connect.add([Endpoint("a", "a", held, "eth0", 1500)])
    guest = foreign.start(held)
    until(lambda: bool(processes.inside([netns.identity(held) or (0, 0)])[netns.identity(held) or (0, 0)]))
    until(lambda: processes.name_of(guest) == "sleep")
    with pytest.raises(TestbedError, match=rf"namespace {held}: process {guest} \(sleep\) is in it"):
        run.close()
    assert namespaces_of(run.id) == [held]
    assert not netns.exists(free)
    assert [name for _, name in netns.inside(held, socket.if_nameindex)] == ["lo"]
    foreign.check()
    disown(run)
    (cleaned,) = clean(root=root)
    assert f"process {guest} (sleep)" in cleaned.left[0]
    os.kill(guest, signal.SIGKILL)
    until(lambda: processes.started(guest) is None)
    (cleaned,) = clean(root=root)
    assert cleaned.left == ()
    assert not root.exists()
    foreign._processes.pop().wait()


def test_a_record_cut_short(root: Path) -> None:
    run = RunRecord.create(root)
    name = run.namespace("a")
    disown(run)
    with (run.folder / "record").open("a") as file:
        file.write('{"what": "namesp')
    (cleaned,) = clean(root=root)
    assert f"namespace {name}" in cleaned.removed


def test_names_from_before_a_reboot(root: Path) -> None:
    """Mounts are gone then, and what they were mounted on may be there still."""
    run = RunRecord.create(root)
    name = run.namespace("a")
    netns.remove(name)
    (netns.DIRECTORY / name).touch()
    disown(run, boot="of yesterday")
    (cleaned,) = clean(root=root)
    assert cleaned.left == ()
    assert namespaces_of(run.id) == []


def test_folders_that_nobody_lived_to_finish(root: Path) -> None:
    mine = root / f".new-abcdef-{os.getpid()}-{processes.started(os.getpid())}"
    lost = root / ".new-abcde0-1-1"
    strange = root / "strange"
    for folder in (mine, lost, strange):
        folder.mkdir(parents=True)
    (cleaned,) = clean(root=root)
    assert cleaned.removed == (f"folder {lost}",)
    assert mine.exists()
    assert strange.exists()
    mine.rmdir()
    strange.rmdir()


def test_two_cleaners_at_once(root: Path) -> None:
    run = RunRecord.create(root)
    for number in range(20):
        run.namespace(f"n{number}")
    disown(run)
    code = (
        "import sys; from pathlib import Path; from emulation.linux.record import clean;"
        "print([one.left for one in clean(root=Path(sys.argv[1])) if one.left])"
    )
    command = [sys.executable, "-c", code, str(root)]
    both = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [item.communicate()[0].strip() for item in both] == ["[]", "[]"]
    assert [item.returncode for item in both] == [0, 0]
    assert namespaces_of(run.id) == []
    assert not run.folder.exists()


def test_without_root(monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    with monkeypatch.context() as context:
        context.setattr(os, "geteuid", lambda: 1000)
        with pytest.raises(TestbedError, match="needs root; run it with sudo"):
            RunRecord.create(root)
        with pytest.raises(TestbedError, match="needs root"):
            clean(root=root)


# -- killed at any moment

_DIES_STARTING = """
import os, sys
from pathlib import Path
from emulation.linux.record import RunRecord
record = RunRecord.create(Path(sys.argv[1]))
if not os.fork():
    sys.stdin.read(1)
    os.execve("/bin/sleep", ["sleep", "1000"], record.environment())
print(record.token, flush=True)
os.kill(os.getpid(), 9)
"""


def test_killed_between_a_processs_birth_and_its_program(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The child carries nothing of the run before its program starts, which happens while `clean` waits."""
    command = [sys.executable, "-c", _DIES_STARTING, str(root)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdin is not None
        assert owner.stdout is not None
        released = owner.stdin
        token = owner.stdout.readline().strip()
        owner.wait()
        assert not processes.carrying(token)

        class Released:
            """The module time, whose sleep lets the child go on."""

            monotonic = staticmethod(time.monotonic)

            @staticmethod
            def sleep(seconds: float) -> None:
                released.close()
                time.sleep(seconds)

        monkeypatch.setattr(processes, "time", Released)
        (cleaned,) = clean(root=root)
        assert [text for text in cleaned.removed if "(sleep)" in text]
        assert not processes.carrying(token)


def start_builder(root: Path, file: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.emulation.mininet.builder", str(root), str(file)]
    builder = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
    assert builder.stdout is not None
    assert builder.stdout.readline() == b"begin\n"
    return builder


@pytest.mark.long
def test_killed_at_random_moments(
    root: Path, tmp_path: Path, foreign: Foreign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "GRACE", 0.2)
    interfaces = outside()
    moments = random.Random(4)
    for turn in range(KILLS):
        file = tmp_path / f"file{turn}"
        builder = start_builder(root, file)
        time.sleep(moments.uniform(0, 0.25))
        builder.kill()
        builder.wait()
        recorded = [noted.read(folder) for folder in root.iterdir()] if root.exists() else []
        runs = [item for item in recorded if item]
        cleaned = clean(root=root)
        assert [item.left for item in cleaned if item.left] == []
        assert not root.exists()
        assert not file.exists()
        for run in runs:
            assert namespaces_of(run.run) == []
            assert not processes.carrying(run.token)
    assert outside() == interfaces
    foreign.check()


def outside() -> set[str]:
    """Interfaces beside the namespaces with names that could be ours."""
    return {name for _, name in socket.if_nameindex() if name.startswith(("npu", "probe"))}
