# SPDX-License-Identifier: Apache-2.0
"""Topology of a scenario: a family of fabrics and its parameters, as a frozen value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Self, final

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from topologies.errors import TopologyError
from topologies.families.registry import build, find
from topologies.model.fabric import Fabric

__all__ = ["Model", "Name", "NotNegative", "Positive", "Topology"]

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]


# Name of a scenario, variant or job: also a folder of results, and a part of the names of metrics.
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=60)]


class Model(BaseModel):
    """A frozen value of a scenario file, which takes no other keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


@final
class Topology(Model):
    """A family and the parameters given for it, which stand beside `name` in a file.

    The family's declaration checks them; parameters left out have the family's defaults.
    """

    name: str
    parameters: Mapping[str, Any] = {}

    @model_validator(mode="before")
    @classmethod
    def _read(cls, values: Any) -> Any:
        if not isinstance(values, dict) or not isinstance(values.get("name"), str):
            return values
        parameters = {key: value for key, value in values.items() if key != "name"}
        if errors := [*_errors(values["name"], parameters)]:
            raise ValidationError.from_exception_data(cls.__name__, errors)
        return {"name": values["name"], "parameters": parameters}

    def resized(self, name: str, **parameters: Any) -> Self:
        """Return the topology of a family, with `parameters` and the present ones that it takes."""
        known = {parameter.name for parameter in find(name).parameters}
        kept = {key: value for key, value in self.parameters.items() if key in known}
        return type(self).model_validate({"name": name, **kept, **parameters})

    def build(self) -> Fabric:
        """Build the fabric; TopologyError when the parameters do not fit together."""
        return build(self.name, **self.parameters)


def _errors(name: str, parameters: Mapping[str, Any]) -> Iterator[InitErrorDetails]:
    """Yield what is wrong with a family's name, or else with its parameters."""
    try:
        family = find(name)
    except TopologyError as ex:
        yield _error("name", name, str(ex))
        return
    for problem in family.problems(parameters):
        text = f"topology {name}: {problem.message}; {problem.remedy}"
        yield _error(problem.name, parameters.get(problem.name), text)


def _error(key: str, value: object, text: str) -> InitErrorDetails:
    # Braces in the text would be read as fields of the message.
    kind = PydanticCustomError("topology", "{text}", {"text": text})
    return InitErrorDetails(type=kind, loc=(key,), input=value)
