"""The folder that results go to: tried before anything starts, each file written whole or not at all."""

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
    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, name: str, text: str) -> Path:
        """Put a file in place by renaming: a reader sees the old one or the new one, never half of it."""
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
    """The folder, made if need be. OutputError when it cannot be written.

    Folders made for a run that then fails are taken away again, unless something has been put there.
    """
    made: list[Path] = []
    try:
        try:
            for folder in reversed([path, *path.parents]):
                if not folder.exists():
                    folder.mkdir()
                    made.append(folder)
            with tempfile.TemporaryFile(dir=path):
                pass
        except OSError as ex:
            raise _unwritable(path, ex) from None
        yield OutputFolder(path)
    except BaseException:
        for folder in reversed(made):
            with suppress(OSError):
                folder.rmdir()
        raise


def _unwritable(path: Path, ex: OSError) -> OutputError:
    return OutputError(
        f"{path}: cannot write results there: {ex.strerror or ex}", remedy="give another folder with --out"
    )


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
