# SPDX-License-Identifier: Apache-2.0
"""Write an import as files for `railyard run`: a scenario, its traffic graph and its fabric."""

from pathlib import Path

from emulation.traffic.graph.document import write_graph
from harness.errors import OutputError
from harness.formats.imported import Imported
from harness.output import writing
from topologies.model.codec import to_json

__all__ = ["scenario_name", "write_imported"]


def write_imported(imported: Imported, folder: Path, origin: str, *, again: bool = False) -> Path:
    """Write an import into a folder; return the path of scenario.yaml.

    graph.json is written too if the import has a traffic graph, and fabric.json if it has a fabric.

    The folder is created if needed. `origin` names the imported files, in the title and the first comment of
    the scenario. With `again`, an existing scenario.yaml is accepted if its text is equal; otherwise any
    existing file is refused.

    Raises:
        OutputError: The folder has a scenario.yaml already, or cannot be written.
    """
    scenario = folder / "scenario.yaml"
    text = _scenario(imported, origin)
    if scenario.exists() and not (again and _same(scenario, text)):
        keep = f"run {scenario}" if again else "name another folder with --out"
        state = "exists and differs from this import" if again else "exists already"
        raise OutputError(f"{scenario} {state}", remedy=f"{keep}, or remove it")
    with writing(folder, "name a folder that can be written"):
        folder.mkdir(parents=True, exist_ok=True)
        if imported.traffic is not None:
            write_graph(imported.traffic, folder / "graph.json")
        if imported.fabric is not None:
            (folder / "fabric.json").write_text(to_json(imported.fabric), encoding="utf-8")
        scenario.write_text(text, encoding="utf-8")
    return scenario


def scenario_name(imported: Imported) -> str:
    """Return the name of the imported scenario in letters, digits, - and _; at most 60 characters."""
    name = "".join(c if c.isalnum() or c in "-_" else "-" for c in imported.name.lower()).strip("-")
    return (name or "imported")[:60]


def _same(path: Path, text: str) -> bool:
    try:
        return path.read_text(encoding="utf-8") == text
    except (OSError, UnicodeDecodeError):
        return False


def _scenario(imported: Imported, origin: str) -> str:
    from io import StringIO

    from ruamel.yaml import YAML

    traffic: dict[str, object] = {"collective": dict(imported.collective)}
    if imported.traffic is not None:
        traffic = {"graph": {"file": "graph.json"}}
    variant: dict[str, object] = {"name": "run", **traffic, **imported.settings}
    if imported.faults:
        variant["faults"] = [dict(fault) for fault in imported.faults]
    document = {
        "name": scenario_name(imported),
        "title": f"{imported.name}, from {origin}",
        "topology": {"file": "fabric.json"} if imported.fabric is not None else dict(imported.topology),
        "variants": [variant],
    }
    if imported.assertions:
        document["assertions"] = [dict(assertion) for assertion in imported.assertions]
    text = StringIO()
    yaml = YAML()
    yaml.default_flow_style = None
    yaml.width = 120
    yaml.dump(document, text)
    head = "".join(f"# {note}\n" for note in (f"Imported from {origin}.", *imported.notes))
    return head + text.getvalue()
