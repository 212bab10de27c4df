# SPDX-License-Identifier: Apache-2.0
"""Start-up: a command imports what it needs. Modules are counted, because times depend on the machine."""

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = """\
import json, sys
from railyard.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print(json.dumps([name for name in sys.modules]))
"""

SCENARIO = "name: small\ntopology: {name: full-mesh, dims: [2, 4]}\ncollective: {elements: 65536}\n"


FLOORS = {"topologies", "controller", "emulation", "harness", "papers", "railyard"}

# Modules of other packages in such a run: 614 at the end of November 2026, and a few for other versions.
MODULES = 635
# Modules of this project in such a run: 478, and a few for modules that are divided.
OWN_MODULES = 486


def modules(folder: Path, *arguments: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def test_a_run_without_a_report_imports_no_plots_graphs_or_tables(tmp_path: Path):
    (tmp_path / "small.yaml").write_text(SCENARIO)
    loaded = modules(tmp_path, "run", "small.yaml", "--no-report", "--quiet")
    packages = {name.partition(".")[0] for name in loaded}
    unused = {"matplotlib", "networkx", "ortools", "pandas", "pyarrow", "ray", "jsonschema", "scapy", "scipy"}
    assert packages & unused == set()
    own = [name for name in loaded if name.partition(".")[0] in FLOORS]
    assert len(own) < OWN_MODULES
    assert len(loaded) - len(own) < MODULES


def test_help_and_version_import_no_machinery(tmp_path: Path):
    loaded = modules(tmp_path, "--version")
    packages = {name.partition(".")[0] for name in loaded}
    assert packages & {"numpy", "scipy", "pydantic", "grpc", "emulation", "controller"} == set()
