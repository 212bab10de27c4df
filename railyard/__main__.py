# SPDX-License-Identifier: Apache-2.0
"""`python -m railyard` runs the command `railyard`, also if the PATH lacks the environment's programs."""

import sys

from railyard.cli import main

if __name__ == "__main__":
    sys.exit(main())
