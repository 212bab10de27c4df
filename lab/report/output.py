"""Folder of results: tested before a run starts; each file appears whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import final

from lab.errors import OutputError

__all__ = ["OutputFolder", "output_folder"]


@final
class OutputFolder:
    """A folder whose files appear whole or not at all."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, name: str, text: str) -> Path:
        """Write a file and rename it into place, so that readers see the old or the new file in full."""
        target = self.path / name
        try:
            descriptor, temporary = tempfile.mkstemp(prefix=f".{name}.", dir=self.path)
            try:
                with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
                    file.write(text)
                Path(temporary).chmod(0o666 & ~_umask())
                Path(temporary).replace(target)
            except BaseException:
                Path(temporary).unlink(missing_ok=True)
                raise
        except OSError as ex:
            raise _unwritable(target, ex) from None
        return target


@contextmanager
def output_folder(path: Path) -> Iterator[OutputFolder]:
    """Yield the folder, created if it does not exist, after a test that it can be written.

    If the body fails, folders created here are removed again, unless something has been put in them.

    Raises:
        OutputError: The folder cannot be created or written.
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
        yield OutputFolder(path)
    except BaseException:
        for folder in reversed(created):
            with suppress(OSError):
                folder.rmdir()
        raise


def _unwritable(path: Path, ex: OSError) -> OutputError:
    return OutputError(
        f"{path}: results cannot be written: {ex.strerror or ex}", remedy="give another folder with --out"
    )


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
