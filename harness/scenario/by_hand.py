# SPDX-License-Identifier: Apache-2.0
"""Faults applied by hand during a run, added to the scenario and to its file."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from harness.scenario.schema import Fault, Scenario

__all__ = ["with_faults", "yaml_with_faults"]

Struck = Mapping[str, tuple[Fault, ...]]
"""Faults by hand, by the name of the variant in which they happened."""


def with_faults(scenario: Scenario, struck: Struck) -> Scenario:
    """Return the scenario with the faults by hand appended to the faults of its variants."""
    if not struck:
        return scenario
    variants = tuple(
        variant.model_copy(update={"faults": (*variant.faults, *struck.get(variant.name, ()))})
        for variant in scenario.variants
    )
    return scenario.model_copy(update={"variants": variants})


def yaml_with_faults(file: Path, scenario: Scenario, seed: int, struck: Struck) -> str:
    """Return the text of a scenario's file with `struck`, the faults by hand, added; comments and order stay.

    A variant that inherits the faults of the top level gets its own list: a copy, then its faults by hand.
    `seed` becomes the file's seed, so that a run of the returned text repeats the run by hand exactly.
    """
    yaml = YAML(typ="rt", pure=True)
    yaml.preserve_quotes = True
    yaml.width = 110
    root: CommentedMap = yaml.load(file.read_text(encoding="utf-8"))
    if seed != root.get("seed", 1):
        root["seed"] = seed
    for name, faults in struck.items():
        of_file = root.get("variants") or ()
        variant = next((item for item in of_file if item.get("name") == name), root)
        listed = variant.get("faults")
        if listed is None or variant is root:
            known = listed or root.get("faults") or ()
            listed = CommentedSeq([*known])
            variant["faults"] = listed
        listed.extend(_keys(fault) for fault in faults)
    out = io.StringIO()
    yaml.dump(root, out)
    return out.getvalue()


def _keys(fault: Fault) -> Mapping[str, Any]:
    """Return the keys of a fault in a scenario file, as a YAML mapping in flow style: `{KEY: VALUE, ...}`."""
    keys = CommentedMap(fault.model_dump(by_alias=True, exclude_none=True))
    keys.fa.set_flow_style()
    return keys
