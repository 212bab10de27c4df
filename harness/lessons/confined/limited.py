# SPDX-License-Identifier: Apache-2.0
"""Become another program under limits: `python -I limited.py SECONDS MEMORY_MB FILE_BYTES COMMAND...`."""

import os
import resource
import sys


def main() -> None:
    """Set the limits on processor time, address space and size of files, then run the command."""
    seconds, memory, largest = map(int, sys.argv[1:4])
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (memory << 20, memory << 20))
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
    os.execvp(sys.argv[4], sys.argv[4:])


if __name__ == "__main__":
    main()
