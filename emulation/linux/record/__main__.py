# SPDX-License-Identifier: Apache-2.0
"""`python -m emulation.linux.record`: remove everything that parts of ended runs have left on this machine.

The process that controls a run over several machines calls this by ssh on each of them. Exit code 1:
something could not be removed.
"""

import sys

from emulation.linux.record.cleaning import clean
from topologies.errors import RailyardError

__all__: list[str] = []


def _main() -> int:
    try:
        cleaned = clean(local=True)
    except RailyardError as error:
        print(error, file=sys.stderr)
        return 1
    for report in cleaned:
        for line in report.lines():
            print(line)
    return int(any(report.left for report in cleaned))


if __name__ == "__main__":
    sys.exit(_main())
