# SPDX-License-Identifier: Apache-2.0
"""Imported traffic as files: a scenario, the graph and the fabric, which `railyard run` takes."""

from pathlib import Path

from emulation.traffic.graph.document import write_graph
from lab.errors import OutputError
from lab.formats.imported import Imported
from topologies.model.codec import to_json

__all__ = ["write_imported"]


def write_imported(imported: Imported, folder: Path, origin: str) -> Path:
    """Write scenario.yaml, graph.json and, if the files have a fabric, fabric.json; return the scenario.

    OutputError if the folder has a scenario already, or cannot be written.
    """
    scenario = folder / "scenario.yaml"
    if scenario.exists():
        raise OutputError(f"{scenario}: exists", remedy="name another folder with --out, or remove it")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_graph(imported.graph, folder / "graph.json")
        if imported.fabric is not None:
            (folder / "fabric.json").write_text(to_json(imported.fabric), encoding="utf-8")
        scenario.write_text(_scenario(imported, origin), encoding="utf-8")
    except OSError as ex:
        raise OutputError(f"{folder}: {ex.strerror}", remedy="name a folder that can be written") from None
    return scenario


def _scenario(imported: Imported, origin: str) -> str:
    from io import StringIO

    from ruamel.yaml import YAML

    name = (
        "".join(c if c.isalnum() or c in "-_" else "-" for c in imported.name.lower()).strip("-")
        or "imported"
    )
    variant: dict[str, object] = {"name": "run", "graph": {"file": "graph.json"}}
    if imported.faults:
        variant["faults"] = [dict(fault) for fault in imported.faults]
    document = {
        "name": name[:60],
        "title": f"{imported.name}, from {origin}",
        "topology": {"file": "fabric.json"} if imported.fabric is not None else dict(imported.topology),
        "variants": [variant],
    }
    text = StringIO()
    yaml = YAML()
    yaml.default_flow_style = None
    yaml.width = 120
    yaml.dump(document, text)
    head = "".join(f"# {note}\n" for note in (f"Imported from {origin}.", *imported.notes))
    return head + text.getvalue()
