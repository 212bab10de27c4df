# SPDX-License-Identifier: Apache-2.0
"""p4runtime-shell in a confined process; lines for its prompt on standard input.

    PYTHON -I shell.py ADDRESS DEVICE_ID

PYTHON is that of the shell's own environment. `run.run_shell` starts it behind limited.py, which has set the
limits and confined the reads.
"""

import os
import sys
import time
from pathlib import Path
from typing import Any

# `-I` leaves out the folder of this file.
sys.path.insert(0, str(Path(__file__).parent))

from walls import raise_walls  # type: ignore[import-not-found]

# The shell gives up 2 s after its first message, which is too little on a busy machine.
_ARBITRATION_SECONDS = 60


def main() -> None:
    """Raise the walls and start the shell on a device."""
    address, device_id = sys.argv[1:]
    from IPython.core.profiledir import ProfileDir  # type: ignore[import-not-found]
    from p4runtime_sh import p4runtime, shell  # type: ignore[import-not-found]

    # IPython writes its history and makes folders; behind the walls it cannot.
    profile = ProfileDir.create_profile_dir_by_name(os.environ["TMPDIR"], "default")
    Path(profile.location, "db").mkdir()
    settings = "c = get_config()\nc.HistoryManager.enabled = False\nc.InteractiveShell.colors = 'NoColor'\n"
    Path(profile.location, "ipython_config.py").write_text(settings)
    os.environ["IPYTHONDIR"] = os.environ["TMPDIR"]
    wait = p4runtime.P4RuntimeClient.get_stream_packet

    def patient(client: Any, kind: str, timeout: float = 1) -> Any:
        return wait(client, kind, _ARBITRATION_SECONDS if kind == "arbitration" else timeout)

    p4runtime.P4RuntimeClient.get_stream_packet = patient
    raise_walls(["/"], unix_sockets=True)
    election = f"0,{int(time.time())}"
    options = ["--grpc-addr", address, "--device-id", device_id, "--election-id", election]
    sys.argv = ["p4runtime-shell", *options]
    try:
        shell.main()
    finally:
        # The thread that receives messages would keep a failed process alive.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


if __name__ == "__main__":
    main()
