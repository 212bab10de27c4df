# SPDX-License-Identifier: Apache-2.0
"""docs/notebook.ipynb runs from top to bottom and shows what it says."""

import os
import sys
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).resolve().parents[2] / "docs" / "notebook.ipynb"


def test_the_notebook_runs_and_shows_tables_and_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import nbformat
    from ipykernel.kernelspec import install
    from nbclient import NotebookClient

    # A kernel of this Python, and neither settings nor history in the user's home.
    for name in ("JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(NOTEBOOK.parents[1]), *sys.path]))
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    install(prefix=str(tmp_path), kernel_name="python3")
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "share" / "jupyter"))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells), "commit it without outputs"
    NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    ).execute()
    shown = [
        set(output.data) for cell in notebook.cells for output in cell.get("outputs", ()) if "data" in output
    ]
    assert sum("image/svg+xml" in kinds for kinds in shown) == 3
    assert sum("text/html" in kinds for kinds in shown) == 7
    assert not any(
        output.output_type == "stream" for cell in notebook.cells for output in cell.get("outputs", ())
    )
