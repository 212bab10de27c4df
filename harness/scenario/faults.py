# SPDX-License-Identifier: Apache-2.0
"""Faults of a scenario: a target, named by a single key, an event, and the event's parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, create_model, model_validator

from emulation.faults import EVENTS, Parameter
from emulation.targets import TARGET_KINDS
from harness.scenario.topology import Model, Positive

__all__ = ["Fault"]


def _during_the_run(at_us: Any) -> Any:
    if at_us == 0 and not isinstance(at_us, bool):
        raise ValueError(
            "0 is the begin of the run, and a fault happens during it; give a time such as 0.001, and jobs a "
            "later `at_us:` if their routes shall avoid the fault from the start"
        )
    return at_us


class _Fault(Model):
    """Keys of every fault; the key `from` is the sending node of a direction of a link."""

    at_us: Annotated[Positive, BeforeValidator(_during_the_run)]
    event: Literal[*EVENTS] = "down"  # pyright: ignore[reportInvalidTypeForm]
    source: Annotated[str | None, Field(alias="from")] = None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        given = [kind for kind in TARGET_KINDS if getattr(self, kind) is not None]
        if len(given) != 1:
            kinds = ", ".join(TARGET_KINDS)
            raise ValueError(
                f"the fault has {' and '.join(given) or 'no target'}; give exactly one target among {kinds}"
            )
        if self.source is not None and given != ["direction"]:
            raise ValueError(
                f"`from:` stands beside `{given[0]}:`, but it belongs to `direction:`; leave `from:` out"
            )
        wanted = {parameter.key for parameter in EVENTS[self.event].parameters}
        for key in _EVENT_PARAMETERS:
            if (key in wanted) != (getattr(self, key) is not None):
                if key in wanted:
                    raise ValueError(f"event {self.event} needs `{key}:`, which is missing; add it")
                raise ValueError(f"event {self.event} takes no `{key}:`; leave it out")
        return self

    @property
    def target(self) -> tuple[str, str | int]:
        """Kind and name of the target."""
        return next((kind, name) for kind in TARGET_KINDS if (name := getattr(self, kind)) is not None)

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the event, as fields of emulation.faults.Fault."""
        return {
            parameter.field: parameter.convert(getattr(self, parameter.key))
            for parameter in EVENTS[self.event].parameters
        }


_EVENT_PARAMETERS = {parameter.key: parameter for kind in EVENTS.values() for parameter in kind.parameters}


def _parameter_type(parameter: Parameter) -> Any:
    """Return the type of a parameter's key: a number above 0 and at most the parameter's largest, or None."""
    if parameter.integer:
        return Annotated[int | None, Field(ge=1, le=parameter.most)]
    return Annotated[float | None, Field(gt=0, le=parameter.most, allow_inf_nan=False)]


def _target_type(kind: str, *, numbered: bool) -> Any:
    """Return the type of a target's key: a name or a number from 0, or None."""
    value: Any = Annotated[int | None, Field(ge=0)] if numbered else str | None
    # Excluded from the scenario's hash unless given, so that older scenarios keep their hash.
    return Annotated[value, Field(exclude_if=lambda value: value is None)] if kind == "group" else value


if TYPE_CHECKING:

    class Fault(_Fault):
        """A fault; TARGET_KINDS and EVENTS declare its targets and parameters."""

        def __init__(self, **keys: Any) -> None:
            """Make a fault from its keys in a scenario file."""

        def __getattr__(self, key: str) -> Any:
            """Return the value of the key of a target or a parameter."""

else:
    # A fault names its target by one key of TARGET_KINDS and has the parameters of its event.
    Fault = create_model(
        "Fault",
        __base__=_Fault,
        __doc__="A fault of a scenario: its time, its event with parameters, and its target.",
        **{
            kind: (_target_type(kind, numbered=target.numbered), None)
            for kind, target in TARGET_KINDS.items()
        },
        **{key: (_parameter_type(parameter), None) for key, parameter in _EVENT_PARAMETERS.items()},
    )
