# SPDX-License-Identifier: Apache-2.0
"""The table of features in docs/testbeds/mininet.md, from stored results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, final

from ruamel.yaml import YAML

from harness.run.prepare import Prepared, prepare
from harness.scenario.loader import load
from tests.emulation.mininet.commands import ROOT

__all__ = ["FEATURES", "Feature", "in_docs", "stored", "table", "write"]

_HERE = Path(__file__).parent
_RESULTS = _HERE / "results.json"
_DOCS = ROOT / "docs" / "testbeds" / "mininet.md"
_BEGIN, _END = "<!-- features: begin -->\n", "<!-- features: end -->\n"
_KINDS = ("builtin", "bmv2")

# A frame is acknowledged on its own, and no timer expires because a processor was busy.
_TRANSPORT = {"window": 32, "ack_every": 1, "initial_rto_us": 2000, "min_rto_us": 2000}


@final
@dataclass(frozen=True, slots=True)
class Feature:
    """A feature, its keys in a scenario, and a scenario with it; `refused` are the words of a refusal."""

    feature: str
    keys: str
    scenario: Mapping[str, Any]
    same: Literal["links", "frames", "data"] = "frames"
    refused: str = ""

    def prepare(self, folder: Path) -> Prepared:
        """Return the scenario, written to a folder, ready to run."""
        text = dict(self.scenario, name="feature")
        if "pool" not in text:
            text["transport"] = _TRANSPORT | dict(self.scenario.get("transport", {}))
        file = folder / "scenario.yaml"
        YAML(typ="safe").dump(text, file)
        (ready,) = prepare(*load(file))
        return ready


FEATURES = tuple(Feature(**item) for item in YAML(typ="safe").load(_HERE / "features.yaml"))


def stored() -> dict[str, dict[str, dict[str, int]]]:
    """Return the stored counts of each feature by kind of switch: data frames, links with frames, events."""
    return json.loads(_RESULTS.read_text()) if _RESULTS.exists() else {}


def table() -> str:
    """Return the table in Markdown."""
    counts = stored()
    lines = [
        "| feature | keys | the same in virtual time, on the built-in switch and on BMv2 |",
        "|---|---|---|",
    ]
    for feature in FEATURES:
        words = [_words(feature, counts.get(feature.feature, {}).get(kind)) for kind in _KINDS]
        same = (
            words[0] if len(set(words)) == 1 else "; ".join(map(": ".join, zip(_KINDS, words, strict=True)))
        )
        if feature.refused:
            same = f"refused in real time: “{feature.refused}”"
        lines.append(f"| {feature.feature} | {feature.keys} | {same} |")
    return "".join(f"{line}\n" for line in lines)


def _words(feature: Feature, counts: Mapping[str, int] | None) -> str:
    if counts is None:
        return "not run"
    same = ["data"]
    if feature.same != "data":
        same.insert(0, f"{counts['frames']:,} data frames")
    if feature.same == "links":
        same.insert(1, f"frames of {counts['links']} links")
    if "marked" in counts:
        same.append(f"marks, {counts['marked']} in virtual time")
    if counts["events"] > 1:
        same.append(f"order of {counts['events']} events")
    return ", ".join(same)


def in_docs() -> str:
    """Return the table as it stands in the guide."""
    return _DOCS.read_text().partition(_BEGIN)[2].partition(_END)[0]


def write(results: Mapping[str, Mapping[str, Mapping[str, int]]]) -> None:
    """Store results beside those of other features, and write the table into the guide."""
    kept = stored()
    for feature, kinds in results.items():
        kept.setdefault(feature, {}).update({kind: dict(counts) for kind, counts in kinds.items()})
    order = [feature.feature for feature in FEATURES if feature.feature in kept]
    _RESULTS.write_text(json.dumps({name: kept[name] for name in order}, indent=1, ensure_ascii=False) + "\n")
    head, _, rest = _DOCS.read_text().partition(_BEGIN)
    _DOCS.write_text(head + _BEGIN + table() + _END + rest.partition(_END)[2])
