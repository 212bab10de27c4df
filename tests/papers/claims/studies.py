# SPDX-License-Identifier: Apache-2.0
"""An invented study with a model and a scenario, as a researcher would write it."""

from pathlib import Path

__all__ = ["CLAIMS", "MODEL", "SCENARIO", "write_study"]

SCENARIO = """\
name: ring
topology: {name: full-mesh, dims: [4]}
seed: 3
collective: {kind: allreduce, elements: 4096}
variants:
  - name: direct
    collective: {algorithm: direct}
  - name: ring
    collective: {algorithm: ring}
assertions:
  - {metric: ring.completion_us, min: {metric: direct.completion_us}, name: a ring takes longer}
"""

MODEL = """\
def links(nodes=4, note=None):
    if nodes < 2:
        raise ValueError("a mesh has two nodes or more")
    with open("calls.txt", "a") as file:
        file.write(f"{nodes}\\n")
    return {"links": nodes * (nodes - 1) / 2, "degree": nodes - 1}


def halved(value):
    return value / 2


def drawing():
    return "<svg/>"
"""

CLAIMS = """\
name: my-study
title: A small study of rings
checks:
  mesh:
    title: links of the mesh
    model: model.py:links
    picture: model.py:drawing
    arguments: {nodes: 4}
    common:
      kind: stated
      place: our paper, §2
      mutation: {what: a mesh of 3, set: {nodes: 3}}
    claims:
      links: {text: links of four nodes, unit: links, paper: 6}
      degree: {text: degree of a node, unit: links, paper: 3}
      both: {text: "links over degree", unit: x, paper: 2, value: links / degree, kind: derived}
      half:
        text: links of four nodes, again
        unit: links
        paper: 6
        value: links
        mutation: {function: "model.py:halved"}
  ring:
    title: a ring beside direct sends
    scenario: scenario.yaml
    claims:
      slower:
        text: time of the ring over that of direct sends
        kind: stated
        place: our paper, §3
        unit: x
        paper: 4.1
        within: 0.2
        value: ring.completion_us / direct.completion_us
        mutation: {what: both direct, set: {variants.ring.collective.algorithm: direct}}
"""


def write_study(folder: Path) -> Path:
    """Write the study's files to a folder and return the file of claims."""
    folder.mkdir(exist_ok=True)
    for name, text in (("scenario.yaml", SCENARIO), ("model.py", MODEL), ("claims.yaml", CLAIMS)):
        (folder / name).write_text(text, encoding="utf-8")
    return folder / "claims.yaml"
