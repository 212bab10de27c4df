# SPDX-License-Identifier: Apache-2.0
"""Become another program under limits.

    python -I limited.py SECONDS MEMORY_MB FILE_BYTES READABLE COMMAND...

READABLE is a JSON list of the files and folders that the program may read.
"""

import json
import os
import resource
import sys
from pathlib import Path

# `-I` leaves out the folder of this file.
sys.path.insert(0, str(Path(__file__).parent))

from walls import confine_reads  # type: ignore[import-not-found]


def main() -> None:
    """Set the limits on processor time, memory, size of files and reads, then run the command."""
    seconds, memory, largest = map(int, sys.argv[1:4])
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (memory << 20, memory << 20))
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
    confine_reads(json.loads(sys.argv[4]))
    os.execvp(sys.argv[5], sys.argv[5:])


if __name__ == "__main__":
    main()
