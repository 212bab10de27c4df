# SPDX-License-Identifier: Apache-2.0
"""Runs the scenarios of this folder on every testbed that this machine carries, and compares the results.

Prints figures as Markdown tables; exit code 1 when something is not as it must be.
"""

import sys
from pathlib import Path

from papers.checking.testbeds import compare
from railyard.command import result_of

if __name__ == "__main__":
    sys.exit(compare(result_of, Path(__file__).parent))
