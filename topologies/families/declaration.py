# SPDX-License-Identifier: Apache-2.0
"""Declaration of a family of fabrics: the signature of its generator, annotated.

    @family("NPUs in a row", source=Source("a paper", "a section"))
    def row(
        npus: Annotated[int, Spec("NPUs of the row", at_least=2)] = 4,
        *,
        delay_ns: Annotated[float, Spec("propagation delay of a link", at_least=0)] = 5,
    ) -> Fabric:
        ...

Name, type, default and unit of each parameter come from the signature. The last part of a parameter's name is
its unit (`UNITS`). Scenario files, `--param`, `railyard list`, the tables of the guides and calls from Python
all use this declaration.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property, update_wrapper
from inspect import Parameter as Argument
from inspect import Signature, signature
from math import isfinite
from typing import (
    Annotated,
    Any,
    Generic,
    Literal,
    ParamSpec,
    TypeGuard,
    final,
    get_args,
    get_origin,
    get_type_hints,
)

from topologies.errors import TopologyError
from topologies.model import Fabric
from topologies.model.checks import check

__all__ = ["UNITS", "Family", "Kind", "Parameter", "Problem", "Source", "Spec", "bps", "family", "ns", "us"]

P = ParamSpec("P")

Kind = Literal["whole number", "number", "boolean", "word", "whole numbers"]

UNITS = {"gbps": "Gbit/s", "ns": "ns", "us": "us"}
"""Unit by the last part of a parameter's name."""


def bps(gbps: float) -> int:
    """Convert a rate from Gbit/s to bit/s, rounded."""
    return round(gbps * 10**9)


def ns(nanoseconds: float) -> int:
    """Convert a time from nanoseconds to picoseconds, rounded."""
    return round(nanoseconds * 1000)


def us(microseconds: float) -> int:
    """Convert a time from microseconds to picoseconds, rounded."""
    return round(microseconds * 10**6)


@final
@dataclass(frozen=True, slots=True)
class Source:
    """Paper that describes a family, and its section."""

    paper: str
    section: str

    def __str__(self) -> str:
        return f"{self.paper}, {self.section}"


@final
@dataclass(frozen=True, slots=True)
class Spec:
    """Text and range of a parameter, for the annotation of a generator's argument.

    The range of a list of numbers applies to each number.
    """

    text: str
    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None


@final
@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a family; default None means that the parameter is required."""

    name: str
    kind: Kind
    spec: Spec
    default: int | float | str | bool | tuple[int, ...] | None
    words: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Meaning of the parameter, in one line."""
        return self.spec.text

    @property
    def unit(self) -> str:
        """Unit of a physical quantity; empty for counts and words."""
        return UNITS.get(self.name.rpartition("_")[2], "") if self.kind == "number" else ""

    @property
    def range(self) -> str:
        """Range of accepted values as text."""
        spec = self.spec
        if self.kind == "boolean":
            return "true or false"
        if self.kind == "word":
            return (
                " or ".join([", ".join(self.words[:-1]), self.words[-1]]) if self.words[1:] else self.words[0]
            )
        if spec.at_least is not None and spec.at_most is not None:
            return f"{spec.at_least:g} to {spec.at_most:g}"
        if spec.at_least is not None:
            return f"at least {spec.at_least:g}"
        return f"above {spec.above:g}" if spec.above is not None else ""

    @property
    def expected(self) -> str:
        """Kind and range of accepted values as text."""
        if self.kind in ("boolean", "word"):
            return self.range
        limits = self.range
        if self.spec.at_least is not None:
            limits = f"{'of' if self.spec.at_most is None else 'from'} {limits}"
        if self.kind == "whole numbers":
            return f"a list of whole numbers {limits}, as 4x4 or [4, 4]"
        return f"a {self.kind} {limits}".rstrip()

    def accepts(self, value: object) -> bool:
        """Return whether a value has the right type and lies in the range."""
        match self.kind:
            case "boolean":
                return isinstance(value, bool)
            case "word":
                return value in self.words
            case "whole numbers":
                return _is_list(value) and bool(value) and all(map(self._whole, value))
            case "whole number":
                return self._whole(value)
            case "number":
                if isinstance(value, bool) or not isinstance(value, int | float):
                    return False
                return isfinite(value) and self._in_range(value)

    def _whole(self, value: object) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and self._in_range(value)

    def _in_range(self, value: float) -> bool:
        spec = self.spec
        return (
            (spec.at_least is None or value >= spec.at_least)
            and (spec.above is None or value > spec.above)
            and (spec.at_most is None or value <= spec.at_most)
        )

    def parse(self, text: str) -> Any:
        """Return the value of a command-line text; ValueError when the text is not of the parameter's kind.

        Lists are written as 4x4, 4,4 or [4, 4].
        """
        match self.kind:
            case "boolean":
                return ("false", "true").index(text) == 1
            case "word":
                return text
            case "whole numbers":
                return tuple(int(extent) for extent in text.strip("[]").replace(",", "x").split("x"))
            case "whole number":
                return int(text)
            case "number":
                return float(text)

    def spell(self, value: object) -> str:
        """Return the command-line text of a value: the inverse of `parse`."""
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, tuple):
            return "x".join(map(str, value))
        return f"{value:.15g}" if isinstance(value, float) else str(value)


@final
@dataclass(frozen=True, slots=True)
class Problem:
    """An invalid parameter of a family: its name, the fault, and the remedy."""

    name: str
    message: str
    remedy: str


@final
class Family(Generic[P]):
    """Generator of fabrics with its declaration; a call checks the parameters and builds the fabric.

    `name`: name of the generator, with hyphens.
    `text`: what the generator builds, in one line.
    `source`: paper that describes the family, if any.
    """

    __name__: str

    def __init__(self, generate: Callable[P, Fabric], text: str, source: Source | None) -> None:
        update_wrapper(self, generate)
        self._generate = generate
        self.name = generate.__name__.replace("_", "-")
        self.text = text
        self.source = source

    def __repr__(self) -> str:
        return f"<family {self.name}>"

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Fabric:
        bound = self._signature.bind(*args, **kwargs)
        self._refuse(bound.arguments)
        return self._generate(*args, **kwargs)

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Parameters in the order of the generator's signature."""
        hints = get_type_hints(self._generate, include_extras=True)
        arguments = self._signature.parameters.values()
        return tuple(_parameter(argument, hints[argument.name]) for argument in arguments)

    def parameter(self, name: str) -> Parameter:
        """Return a parameter; TopologyError suggests a similar name and lists all parameters."""
        known = {parameter.name: parameter for parameter in self.parameters}
        if name not in known:
            raise self._error(self._unknown(name))
        return known[name]

    def problems(self, given: Mapping[str, object]) -> Iterator[Problem]:
        """Yield the problems of given parameters: unknown, of wrong type or out of range, then missing."""
        known = {parameter.name: parameter for parameter in self.parameters}
        for name, value in given.items():
            if name not in known:
                yield self._unknown(name)
            elif not known[name].accepts(value):
                yield Problem(name, f"{name} is {_shown(value)}", f"give {known[name].expected}")
        for parameter in self.parameters:
            if parameter.default is None and parameter.name not in given:
                yield Problem(
                    parameter.name, f"{parameter.name} is missing", f"give {parameter.name}: {parameter.text}"
                )

    def build(self, **parameters: Any) -> Fabric:
        """Build a fabric and check it; TopologyError when a parameter or the fabric has a problem."""
        self._refuse(parameters)
        generate: Callable[..., Fabric] = self._generate
        fabric = generate(**parameters)
        check(fabric)
        return fabric

    @cached_property
    def _signature(self) -> Signature:
        return signature(self._generate)

    def _refuse(self, given: Mapping[str, object]) -> None:
        for problem in self.problems(given):
            raise self._error(problem)

    def _error(self, problem: Problem) -> TopologyError:
        return TopologyError(f"topology {self.name}: {problem.message}", remedy=problem.remedy)

    def _unknown(self, name: str) -> Problem:
        names = [parameter.name for parameter in self.parameters]
        close = get_close_matches(name, names, n=1)
        listed = f"parameters of {self.name}: {', '.join(names) or 'none'}"
        remedy = f"did you mean {close[0]!r}? {listed}" if close else listed
        return Problem(name, f"no parameter named {name!r}", remedy)


def family(text: str, *, source: Source | None = None) -> Callable[[Callable[P, Fabric]], Family[P]]:
    """Return a decorator to declare a generator as a family."""

    def declare(generate: Callable[P, Fabric]) -> Family[P]:
        return Family(generate, text, source)

    return declare


def _parameter(argument: Argument, hint: Any) -> Parameter:
    """Return the parameter declared by an argument of a generator."""
    spec = next((part for part in get_args(hint)[1:] if isinstance(part, Spec)), None)
    if get_origin(hint) is not Annotated or spec is None:
        raise TypeError(f"argument {argument.name} has no Spec in its annotation")
    of = get_args(hint)[0]
    words: tuple[str, ...] = ()
    if get_origin(of) is Literal:
        kind, words = "word", get_args(of)
    elif of in _KINDS:
        kind = _KINDS[of]
    else:
        raise TypeError(f"argument {argument.name} is {of}; use int, float, bool, Literal or Sequence[int]")
    default = None if argument.default is Argument.empty else argument.default
    return Parameter(argument.name, kind, spec, default, words)


_KINDS: Mapping[Any, Kind] = {
    int: "whole number",
    float: "number",
    bool: "boolean",
    Sequence[int]: "whole numbers",
}


def _is_list(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return repr(list(value)) if isinstance(value, tuple) else repr(value)
