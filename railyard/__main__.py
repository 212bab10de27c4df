# SPDX-License-Identifier: Apache-2.0
"""`python -m railyard`: the command `railyard`, for machines whose PATH lacks the environment's programs."""

import sys

from railyard.cli import main

if __name__ == "__main__":
    sys.argv[0] = "railyard"
    sys.exit(main())
