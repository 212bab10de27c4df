# SPDX-License-Identifier: Apache-2.0
"""Faults of a scenario: a target by one key, an event, and the event's parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, create_model, model_validator

from emulation.faults import EVENTS, Parameter
from emulation.targets import TARGET_KINDS
from harness.scenario.topology import Model, Positive

__all__ = ["Fault"]


class _Fault(Model):
    """Keys of every fault; `from` is the node at which a direction of a link begins."""

    at_us: Positive
    event: Literal[*EVENTS] = "down"  # pyright: ignore[reportInvalidTypeForm]
    source: Annotated[str | None, Field(alias="from")] = None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        given = [kind for kind in TARGET_KINDS if getattr(self, kind) is not None]
        if len(given) != 1:
            kinds = ", ".join(TARGET_KINDS)
            raise ValueError(f"a fault strikes exactly one of {kinds}, not {' and '.join(given) or 'none'}")
        if self.source is not None and given != ["direction"]:
            raise ValueError(f"only a direction is `from` a node, not a {given[0]}")
        wanted = {parameter.key for parameter in EVENTS[self.event].parameters}
        for key in _EVENT_PARAMETERS:
            if (key in wanted) != (getattr(self, key) is not None):
                raise ValueError(f"event {self.event} {'needs' if key in wanted else 'takes no'} `{key}:`")
        return self

    @property
    def target(self) -> tuple[str, str | int]:
        """Kind and name of the target."""
        return next((kind, name) for kind in TARGET_KINDS if (name := getattr(self, kind)) is not None)

    @property
    def parameters(self) -> dict[str, Any]:
        """Fields of emulation.faults.Fault that the event's keys set."""
        return {
            parameter.field: parameter.convert(getattr(self, parameter.key))
            for parameter in EVENTS[self.event].parameters
        }


_EVENT_PARAMETERS = {parameter.key: parameter for kind in EVENTS.values() for parameter in kind.parameters}


def _parameter_type(parameter: Parameter) -> Any:
    """Return the type of a parameter's key: above 0, at most its largest value, or None."""
    if parameter.integer:
        return Annotated[int | None, Field(ge=1, le=parameter.most)]
    return Annotated[float | None, Field(gt=0, le=parameter.most, allow_inf_nan=False)]


if TYPE_CHECKING:

    class Fault(_Fault):
        """A fault whose target and parameters are declared by TARGET_KINDS and EVENTS."""

        def __init__(self, **keys: Any) -> None:
            """Take keys as a scenario file has them."""

        def __getattr__(self, key: str) -> Any:
            """Return the value of a target's or parameter's key."""

else:
    # A fault names its target by one key of TARGET_KINDS and has the parameters of its event.
    Fault = create_model(
        "Fault",
        __base__=_Fault,
        __doc__="A fault of a scenario: its time, its event with parameters, and its target.",
        **{
            kind: ((Annotated[int, Field(ge=0)] if target.numbered else str) | None, None)
            for kind, target in TARGET_KINDS.items()
        },
        **{key: (_parameter_type(parameter), None) for key, parameter in _EVENT_PARAMETERS.items()},
    )
