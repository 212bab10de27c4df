# SPDX-License-Identifier: Apache-2.0
"""Min-cost flows without OR-Tools, which is an optional package."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

# A fabric whose circuits need the solver, in a Python that finds no OR-Tools.
PROGRAM = """
import sys
sys.modules["ortools"] = None
import numpy as np
from controller.circuits.flow import Items, Nodes, minimise_cost
from controller.errors import PlanError

ints = lambda *values: np.array(values, np.int64)
items = Items(np.array([[0, 0], [2, 2]]), np.array([[1, 2]]), ints(0, 0), ints(1, 1))
free = Nodes(ints(0, -4), ints(4, 0), ints(0, 0))
print(minimise_cost(items, free, ints(0, 0)).tolist())
try:
    minimise_cost(items, Nodes(ints(3, -3), ints(3, -3), ints(0, 0)), ints(0, 0))
except PlanError as ex:
    print(ex)
"""


def test_without_the_solver_a_sentence_says_what_to_install():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    free, refused = done.stdout.splitlines()
    # Numbers that are within their bounds from the start need no solver.
    assert free == "[0, 0]"
    assert (
        "needs OR-Tools, which is not installed; install it with `pip install 'railyard[circuits]'`"
        in refused
    )
