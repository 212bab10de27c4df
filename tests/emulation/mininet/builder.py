# SPDX-License-Identifier: Apache-2.0
"""A run that makes namespaces, links and processes until it is killed: `builder.py ROOT FILE`."""

import subprocess
import sys
from itertools import count
from pathlib import Path

from emulation.linux.record import RunRecord
from emulation.mininet.links.cross_connect import CrossConnect
from emulation.mininet.links.endpoints import Endpoint

# Ends only when it is killed, and has a child that leaves its session.
_STUBBORN = "trap '' TERM; setsid sleep 1000 & while true; do sleep 1000; done"


def main() -> None:
    root, file = map(Path, sys.argv[1:])
    print("begin", flush=True)
    record = RunRecord.create(root)
    record.note_file(file)
    file.write_text("ours")
    devices, connections = record.namespace("fabric"), record.namespace("links")
    cross_connect = CrossConnect(connections)
    for number in count():
        host = record.namespace(f"npu{number}")
        name = f"npu{number}"
        cross_connect.add(
            [Endpoint(f"{name}:{i}", f"{name}-{i}", devices, f"{name}-{i}", 9500) for i in range(8)]
        )
        cross_connect.add([Endpoint(f"{name}:host", f"{name}-h", host, "eth0", 9500)])
        cross_connect.connect(f"{name}:0", f"{name}:host", rate_bps=1e6)
        cross_connect.connect(f"{name}:1", f"{name}:2")
        if number % 4 == 0:
            command = ["nsenter", f"--net=/run/netns/{host}", "sh", "-c", _STUBBORN]
            subprocess.Popen(command, env=record.environment())
        cross_connect.disconnect(f"{name}:1", f"{name}:2")
        (record.folder / f"{name}.log").write_text("made")


if __name__ == "__main__":
    main()
