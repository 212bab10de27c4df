"""Folder of results: checked and locked before a run starts; each file is written in full or not at all."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, final

from harness.errors import OutputError

__all__ = ["Lock", "OutputFolder", "output_folder", "write_file", "writing"]

Lock = Literal["exclusive", "shared", "none"]


@final
class OutputFolder:
    """A folder of results; each file is written under a temporary name and then renamed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, name: str, text: str) -> Path:
        """Write a text file of the folder; readers see either the old or the new file, each in full.

        Raises OutputError if the file cannot be written.
        """
        return self.write_bytes(name, text.encode())

    def write_bytes(self, name: str, content: bytes) -> Path:
        """Write a binary file of the folder, with the guarantees of `write`."""
        target = self.path / name
        try:
            descriptor, temporary = tempfile.mkstemp(prefix=f".{name}.", dir=self.path)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(content)
                Path(temporary).chmod(0o666 & ~_umask())
                Path(temporary).replace(target)
            except BaseException:
                Path(temporary).unlink(missing_ok=True)
                raise
        except OSError as ex:
            raise _unwritable(target, ex) from None
        return target


@contextmanager
def output_folder(path: Path, *, lock: Lock = "exclusive") -> Iterator[OutputFolder]:
    """Create the folder if needed, check that it is writable, lock it, and yield it.

    If the body of the `with` statement raises an exception, folders created here are removed again if they
    are empty. In a run with sudo, created folders and files of root become the property of the user who
    called sudo.

    Args:
        path: The folder of results.
        lock: `exclusive`: a second run that opens the folder, in this or another process, is refused until
            the body ends. `shared`: several runs may write to the folder at once, as the shards of a study
            do.
            `none`: no lock, for single files beside other files of the user.

    Raises:
        OutputError: The folder cannot be created or written, or another run holds a lock on it.
    """
    created: list[Path] = []
    try:
        try:
            for folder in reversed([path, *path.parents]):
                if not folder.exists():
                    folder.mkdir()
                    created.append(folder)
            with tempfile.TemporaryFile(dir=path):
                pass
        except OSError as ex:
            raise _unwritable(path, ex) from None
        with _locked(path, lock):
            yield OutputFolder(path)
    except BaseException:
        for folder in reversed(created):
            with suppress(OSError):
                folder.rmdir()
        raise
    finally:
        _give_back(path, created)


def write_file(path: Path, text: str) -> None:
    """Write a text file beside other files of the user, in full or not at all; create its folder if needed.

    Raises OutputError if the file cannot be written.
    """
    with output_folder(path.parent, lock="none") as folder:
        folder.write(path.name, text)


@contextmanager
def writing(path: Path, remedy: str) -> Iterator[None]:
    """Turn an error of the operating system while `path` is written into an OutputError with a remedy."""
    try:
        yield
    except OSError as ex:
        raise OutputError(f"{path} cannot be written: {ex.strerror}", remedy=remedy) from None


def _give_back(path: Path, created: list[Path]) -> None:
    """Make the caller of sudo the owner of the created folders, and of root's files in the folder of results.

    Does nothing without sudo. If a third user owns the folder of results, its files keep their owner.
    """
    caller = os.environ.get("SUDO_UID", "")
    if os.geteuid() != 0 or not caller.isdecimal() or caller == "0" or not path.is_dir():
        return
    group = os.environ.get("SUDO_GID", "")
    user, group_id = int(caller), int(group) if group.isdecimal() else -1
    for folder in created:
        with suppress(OSError):
            os.chown(folder, user, group_id, follow_symlinks=False)
    if path.stat().st_uid != user:
        return
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            entry = Path(folder, name)
            with suppress(OSError):
                status = entry.lstat()
                # A file with several hard links may be a system file that must stay with root.
                if status.st_uid == 0 and (name in folders or status.st_nlink == 1):
                    os.chown(entry, user, group_id, follow_symlinks=False)


@contextmanager
def _locked(path: Path, lock: Lock) -> Iterator[None]:
    """Hold a lock on a folder during the body of the `with` statement, or until the process ends."""
    if lock == "none":
        yield
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if lock == "shared" else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise OutputError(
            f"{path}: another run writes its results to this folder",
            remedy="wait for its end, or give another folder with --out",
        ) from None
    except OSError:  # The file system has no locks; go on without a lock.
        pass
    try:
        yield
    finally:
        with suppress(OSError):
            os.close(descriptor)


def _unwritable(path: Path, ex: OSError) -> OutputError:
    return OutputError(
        f"{path}: results cannot be written: {ex.strerror or ex}", remedy="give another folder with --out"
    )


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
