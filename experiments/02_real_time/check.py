# SPDX-License-Identifier: Apache-2.0
"""Runs the scenario of this folder on every testbed that this machine carries, and compares what came of it.

Prints the figures as a Markdown table; exit code 1 when something is not as it must be.
"""

import argparse
import sys
from pathlib import Path

from papers.checking.testbeds import compare
from railyard.command import result_of

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dims", default="", help="a full mesh of that shape, as 2x4, instead of the rack")
    dims = parser.parse_args().dims
    sys.exit(compare(result_of, Path(__file__).parent, ["--dims", dims] if dims else ()))
