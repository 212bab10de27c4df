# SPDX-License-Identifier: Apache-2.0
"""Registry of values by name: built in, registered in this process, of installed packages, of Python files.

Families of fabrics, kinds of collectives, schedulers and path sets have a registry each. An installed package
adds a value by an entry point; a built-in value of equal name has precedence.
"""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar, final

from topologies.errors import RailyardError
from topologies.plugins.python_file import is_reference, load

__all__ = ["Registry"]

T = TypeVar("T")


@final
class Registry(Generic[T]):
    """Registry of named values of one sort: built in, registered, of installed packages, or of a file.

    Args:
        sort: what the values are, for error messages, such as "topology".
        group: group of entry points by which installed packages declare values.
        values: built-in values by name.
        checked: function of the name, the origin (FILE.py:NAME or package.module:NAME) and the loaded object,
            which returns the value or raises an `error`.
        error: class of the errors of this registry.
        unknown: format of the message about an unknown name.
        known: words before the list of all names, in the remedy for an unknown name.
        matches: number of similar names that this remedy suggests, if there are any, instead of the list.
        shown: function that writes a suggested name.
        files: whether a name may be FILE.py:NAME.
        otherwise: words after the list of all names, in the remedy for an unknown name.
    """

    def __init__(
        self,
        sort: str,
        group: str,
        values: Mapping[str, T],
        checked: Callable[[str, str, object], T],
        error: type[RailyardError],
        *,
        unknown: str = "",
        known: str = "there are",
        matches: int = 1,
        shown: Callable[[str], str] = repr,
        files: bool = True,
        otherwise: str = "",
    ) -> None:
        self.group = group
        self._sort = sort
        self._values = dict(values)
        self._checked = checked
        self._error = error
        self._unknown = unknown or f"no {sort} named {{name!r}}"
        self._known = known
        self._matches = matches
        self._shown = shown
        self._otherwise = otherwise
        self._files = files
        self._points: dict[str, EntryPoint] | None = None
        self._loaded: dict[str, T] = {}

    def names(self) -> tuple[str, ...]:
        """Return the names of all values: built in, registered, then of installed packages."""
        return (*self._values, *self._installed())

    def find(self, name: str) -> T:
        """Return the value of a name; raise an `error` that suggests similar names, or lists all names."""
        if name in self._values:
            return self._values[name]
        if name in self._installed():
            if name not in self._loaded:
                self._loaded[name] = self.load_point(self._installed()[name])
            return self._loaded[name]
        if self._files and is_reference(name):
            return self._checked(name, name, load(name))
        if close := get_close_matches(name, self.names(), n=self._matches):
            remedy = f"did you mean {' or '.join(map(self._shown, close))}?"
        else:
            remedy = f"{self._known} {', '.join(sorted(self.names()))}{self._otherwise}"
        raise self._error(self._unknown.format(name=name), remedy=remedy)

    def register(self, name: str, value: T) -> None:
        """Add a value for this process; raise an `error` when its name is taken."""
        if name in self.names():
            raise self._error(f"{self._sort} {name} exists already", remedy="give it another name")
        self._values[name] = value

    def load_point(self, point: EntryPoint) -> T:
        """Return the value of an entry point; raise an `error` when the entry point cannot be loaded."""
        try:
            value = point.load()
        except Exception as ex:
            raise self._error(
                f"{self._sort} {point.name}: cannot load {point.value}: {ex}",
                remedy="repair the package that declares it, or uninstall it",
            ) from ex
        return self._checked(point.name, point.value, value)

    def _installed(self) -> dict[str, EntryPoint]:
        """Return entry points by name, without names of built-in or registered values."""
        if self._points is None:
            self._points = {point.name: point for point in entry_points(group=self.group)}
        return {name: point for name, point in self._points.items() if name not in self._values}
