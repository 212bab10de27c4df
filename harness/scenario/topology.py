# SPDX-License-Identifier: Apache-2.0
"""`topology:` of a scenario: a family of fabrics with parameters, a file, or a Python function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Self, final

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from topologies.errors import TopologyError
from topologies.families.registry import build, find
from topologies.model.fabric import Fabric
from topologies.sources.fabrics import is_outside, open_fabric

__all__ = ["Model", "Name", "NotNegative", "Positive", "Topology"]

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]


# Name of a scenario, variant or job, which also names folders of results and is part of metric names.
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=60)]


class Model(BaseModel):
    """Base class of the models of a scenario file: frozen, strict about types, without unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


@final
class Topology(Model):
    """A fabric, given as a family with parameters, as a file, or as a function of a Python file.

    In a scenario file the parameters of a family stand beside `name`, and the family's declaration checks
    them; missing parameters have the family's defaults. `file:` in place of `name:` holds a fabric. `python:`
    is FILE.py:NAME, a function that is called with `params:`. The attribute `name` then holds the file or
    FILE.py:NAME.
    """

    name: str
    parameters: Mapping[str, Any] = {}

    @model_validator(mode="before")
    @classmethod
    def _read(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        if "file" in values or "python" in values:
            return cls._outside(values)
        if not isinstance(values.get("name"), str):
            return values
        parameters = {key: value for key, value in values.items() if key != "name"}
        if errors := [*_errors(values["name"], parameters)]:
            raise ValidationError.from_exception_data(cls.__name__, errors)
        return {"name": values["name"], "parameters": parameters}

    @classmethod
    def _outside(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Return the fields of a topology given by the key `file` or `python`."""
        origin = "python" if "python" in values else "file"
        allowed = ("python", "params") if origin == "python" else ("file",)
        errors = [
            _error(
                key, values[key], f"topology: no key {key!r} beside `{origin}:`; give {' and '.join(allowed)}"
            )
            for key in values
            if key not in allowed
        ]
        reference, parameters = values[origin], values.get("params", {})
        if not isinstance(reference, str) or not is_outside(reference):
            remedy = "write FILE.py:NAME" if origin == "python" else "give a file *.json or *.graphml"
            message = f"topology: `{origin}:` is {reference!r}, which is not supported; {remedy}"
            errors.append(_error(origin, reference, message))
        if not isinstance(parameters, dict):
            errors.append(
                _error("params", parameters, "topology: `params:` is not a block of keys; write NAME: VALUE")
            )
        if errors:
            raise ValidationError.from_exception_data(cls.__name__, errors)
        return {"name": reference, "parameters": parameters}

    @property
    def is_family(self) -> bool:
        """True for a family of fabrics; False for a file or a Python function."""
        return not is_outside(self.name)

    def resized(self, name: str, **parameters: Any) -> Self:
        """Return a topology of the family `name`.

        It keeps the present parameters that the family takes; `parameters` override them.
        """
        known = {parameter.name for parameter in find(name).parameters}
        kept = {key: value for key, value in self.parameters.items() if key in known}
        return type(self).model_validate({"name": name, **kept, **parameters})

    def build(self) -> Fabric:
        """Build the fabric.

        Raises:
            TopologyError: The file, the function or the parameters do not describe a fabric.
        """
        return (
            build(self.name, **self.parameters) if self.is_family else open_fabric(self.name, self.parameters)
        )


def _errors(name: str, parameters: Mapping[str, Any]) -> Iterator[InitErrorDetails]:
    """Yield an error for an unknown family, or an error for each invalid parameter of the family."""
    try:
        family = find(name)
    except TopologyError as ex:
        yield _error("name", name, str(ex))
        return
    for problem in family.problems(parameters):
        text = f"topology {name}: {problem.message}; {problem.remedy}"
        yield _error(problem.name, parameters.get(problem.name), text)


def _error(key: str, value: object, text: str) -> InitErrorDetails:
    # The text is passed as a field, because pydantic would read braces in a template as fields.
    kind = PydanticCustomError("topology", "{text}", {"text": text})
    return InitErrorDetails(type=kind, loc=(key,), input=value)
