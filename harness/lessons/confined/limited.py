# SPDX-License-Identifier: Apache-2.0
"""Set limits on this process and replace it by another program.

    python -I limited.py SECONDS MEMORY_MB FILE_BYTES READABLE COMMAND...

READABLE is a JSON list of the files and folders that the program may read.
"""

import json
import os
import resource
import sys
from pathlib import Path

# With `-I` Python does not search the folder of this file for modules.
sys.path.insert(0, str(Path(__file__).parent))

from landlock import confine_reads  # type: ignore[import-not-found]


def main() -> None:
    """Limit processor time, memory, file size and readable files; replace this process by the command."""
    seconds, memory, largest = map(int, sys.argv[1:4])
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (memory << 20, memory << 20))
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
    confine_reads(json.loads(sys.argv[4]))
    os.execvp(sys.argv[5], sys.argv[5:])


if __name__ == "__main__":
    main()
