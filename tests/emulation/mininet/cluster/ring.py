# SPDX-License-Identifier: Apache-2.0
"""A ring AllReduce over TCP with the standard library, for hosts that `--launch` starts it on.

Rank r contributes r + 1 to the first element, 2 (r + 1) to the second, and so on; every sum is checked.
With an argument, the AllReduce is repeated until that file exists.
"""

import os
import socket
import sys
import threading
import time
from array import array
from pathlib import Path

PORT = 7000
SECONDS = 300.0

rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
hosts = os.environ["RAILYARD_HOSTS"].split(",")
server = socket.create_server((hosts[rank], PORT))
deadline = time.monotonic() + SECONDS
while True:
    try:
        after = socket.create_connection((hosts[(rank + 1) % ranks], PORT), timeout=SECONDS)
        break
    except OSError:
        assert time.monotonic() < deadline, "the next rank does not answer"
server.settimeout(SECONDS)
accepted, _ = server.accept()
before = accepted.makefile("rb")


def allreduce(own: array) -> array:
    size = len(own) // ranks
    mine = array("q", own)
    for step in range(2 * (ranks - 1)):
        gather = step >= ranks - 1
        sent = (rank - step + (1 if gather else 0) + (ranks - 1 if gather else 0)) % ranks
        got = (sent - 1) % ranks
        block = mine[sent * size : (sent + 1) * size].tobytes()
        sending = threading.Thread(target=after.sendall, args=(block,))
        sending.start()
        received = array("q", before.read(8 * size))
        sending.join()
        for index, value in enumerate(received, got * size):
            mine[index] = value if gather else mine[index] + value
    return mine


own = array("q", ((rank + 1) * (index + 1) for index in range(4 * ranks)))
expected = array("q", (ranks * (ranks + 1) // 2 * (index + 1) for index in range(4 * ranks)))
stop = Path(sys.argv[1]) if len(sys.argv) > 1 else None
rounds = 0
while True:
    last = array("q", [0] * ranks)
    if stop is None or (rank == 0 and stop.exists()):
        last[0] = 1 if stop is not None else 0
    result = allreduce(own)
    assert result == expected, (rank, result)
    rounds += 1
    if rounds == 1:
        print("sum is right", flush=True)
    if stop is None or allreduce(last)[0]:
        break
print(f"every sum of {ranks} ranks is right", flush=True)
