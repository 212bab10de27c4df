"""Messages for an invalid scenario: FILE:LINE, the key, its value and a remedy."""

from __future__ import annotations

from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from harness.scenario.document import Document, Location, dotted
from harness.scenario.schema import BRANCHES, SETTINGS, Scenario
from topologies.errors import suggestion

__all__ = ["explain", "in_file"]

EXPECTED = {
    "dict_type": "a block of keys",
    "model_type": "a block of keys",
    "model_attributes_type": "a block of keys",
    "tuple_type": "a list",
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
}


def explain(document: Document, failure: ValidationError, root: type[BaseModel] = Scenario) -> list[str]:
    """Return a message for each mistake in a document, in the order of the file's lines.

    `failure` is pydantic's error of the document, validated against the model `root`.
    """
    lines: dict[str, int] = {}
    for error in failure.errors(include_url=False):
        if error["type"] == "too_short" and len(error["input"]) >= error.get("ctx", {}).get("min_length", 0):
            continue  # some items are invalid, and pydantic reports each of these by itself
        location = in_file(document, _without_branches(error["loc"]))
        lines.setdefault(document.at(location, _message(error, location, root)), document.line(location))
    return sorted(lines, key=lambda text: lines[text])


def in_file(document: Document, location: Location) -> Location:
    """Return the location in the file of a variant's value, which may be inherited from the top level."""
    if len(location) < 3 or location[0] != "variants" or location[2] not in SETTINGS:
        return location
    # A list in a variant replaces the list of the top level; a block of keys is merged with it key by key.
    own = location[:3] if location[2] in ("faults", "jobs") else location[:4]
    if location[2] == "jobs" and location[4:5] == ("collective",):
        # A job may inherit the key from its variant, and the variant from the top level.
        shared = (*location[:2], *location[4:])
        places = (location, location[2:], shared, shared[2:])
        return next((place for place in places if document.depth(place) == len(place)), location)
    return location if document.depth(own) == len(own) else location[2:]


def _without_branches(location: Location) -> Location:
    """Return the location without pydantic's tags for the branches of a union type."""
    return tuple(step for step in location if step not in BRANCHES)


def _message(error: ErrorDetails, location: Location, root: type[BaseModel]) -> str:
    key = _dotted(location)
    value = error.get("input")
    context = error.get("ctx", {})
    match error["type"]:
        case "extra_forbidden":
            keys = _keys(error["loc"][:-1], root)
            word = str(location[-1])
            if word == "topology" and location[:1] == ("variants",):
                remedy = (
                    "variants share a topology; give an axis `topology` of `study:`, for `railyard sweep`"
                )
            else:
                remedy = suggestion(word, keys)
            return f"unknown key {word!r}{_place(location[:-1])}; {remedy}"
        case "missing":
            return f"{key} is missing; add `{location[-1]}:`"
        case "literal_error" | "enum":
            allowed = [word.strip("'") for word in str(context["expected"]).replace(" or ", ", ").split(", ")]
            return f"{key}: {value!r} is not known; {suggestion(str(value), allowed)}"
        case "greater_than":
            return f"{key}: {value!r} must be greater than {context['gt']:g}"
        case "greater_than_equal":
            return f"{key}: {value!r} must be at least {context['ge']:g}"
        case "less_than":
            return f"{key}: {value!r} must be less than {context['lt']:g}"
        case "less_than_equal":
            return f"{key}: {value!r} must be at most {context['le']:g}"
        case "multiple_of":
            return f"{key}: {value!r} must be a multiple of {context['multiple_of']:g}"
        case "string_pattern_mismatch":
            return f"{key}: {value!r} is not a name; use small letters, digits, - and _"
        case "too_short":
            items = f"has {len(value)}" if value else "is empty"
            return f"{key} {items}; give at least {context['min_length']}"
        case "topology":
            return context["text"]
        case "value_error":
            return f"{key}: {context['error']}"
        case kind if kind in EXPECTED:
            return f"{key}: {_shown(value)} is not {EXPECTED[kind]}"
        case _:
            return f"{key}: {_shown(value)}: {error['msg']}"


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "a block of keys"
    if isinstance(value, tuple):
        return "a list"
    if isinstance(value, bool):
        return str(value).lower()
    return "nothing" if value is None else repr(value)


def _dotted(location: Location) -> str:
    return dotted(location) or "the scenario"


def _place(location: Location) -> str:
    return f" in {_dotted(location)}" if location else ""


def _keys(location: Location, root: type[BaseModel]) -> list[str]:
    """Return the keys allowed at `location` of a file."""
    current = root
    for step in location:
        if isinstance(step, str) and step in current.model_fields:
            current = _model_in(current.model_fields[step].annotation) or current
    keys = [field.alias or name for name, field in current.model_fields.items()]
    return keys if location or root is not Scenario else [*keys, *SETTINGS]


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for part in get_args(annotation):
        if model := _model_in(part):
            return model
    return None
