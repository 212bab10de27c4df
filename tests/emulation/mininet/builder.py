# SPDX-License-Identifier: Apache-2.0
"""A run that makes namespaces, links and processes until it is killed: `builder.py ROOT FILE`."""

import subprocess
import sys
from itertools import count
from pathlib import Path

from emulation.linux.record import RunRecord
from emulation.mininet.jacks import Jack
from emulation.mininet.patch import PatchPanel

# Ends only when it is killed, and has a child that leaves its session.
_STUBBORN = "trap '' TERM; setsid sleep 1000 & while true; do sleep 1000; done"


def main() -> None:
    root, file = map(Path, sys.argv[1:])
    print("begin", flush=True)
    record = RunRecord.create(root)
    record.note_file(file)
    file.write_text("ours")
    devices, patches = record.namespace("fabric"), record.namespace("patch")
    panel = PatchPanel(patches)
    for number in count():
        host = record.namespace(f"npu{number}")
        name = f"npu{number}"
        panel.add([Jack(f"{name}:{i}", f"{name}-{i}", devices, f"{name}-{i}", 9500) for i in range(8)])
        panel.add([Jack(f"{name}:host", f"{name}-h", host, "eth0", 9500)])
        panel.patch(f"{name}:0", f"{name}:host", rate_bps=1e6)
        panel.patch(f"{name}:1", f"{name}:2")
        if number % 4 == 0:
            command = ["nsenter", f"--net=/run/netns/{host}", "sh", "-c", _STUBBORN]
            subprocess.Popen(command, env=record.environment())
        panel.unpatch(f"{name}:1", f"{name}:2")
        (record.folder / f"{name}.log").write_text("made")


if __name__ == "__main__":
    main()
