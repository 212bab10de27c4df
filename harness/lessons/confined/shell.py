# SPDX-License-Identifier: Apache-2.0
"""Run p4runtime-shell in a confined process, with the lines for its prompt on standard input.

    PYTHON -I shell.py ADDRESS DEVICE_ID CONNECTIONS

PYTHON is the interpreter of p4runtime-shell's environment, and CONNECTIONS the descriptor of
`connections.connections`. `run.run_shell` starts this program by limited.py,
which sets limits and confines reads first.
"""

import os
import sys
import time
from pathlib import Path
from typing import Any

# With `-I` Python does not search the folder of this file for modules.
sys.path.insert(0, str(Path(__file__).parent))

from walls import raise_walls  # type: ignore[import-not-found]

# Timeout for arbitration. The shell's own timeout of 2 s is too short on a busy machine.
_ARBITRATION_SECONDS = 60


def main() -> None:
    """Confine this process and start the shell on a device."""
    address, device_id, descriptor = sys.argv[1:]
    from IPython.core.profiledir import ProfileDir  # type: ignore[import-not-found]
    from p4runtime_sh import p4runtime, shell  # type: ignore[import-not-found]

    # IPython creates folders and writes its history. Confined, it cannot: create the folders before, and turn
    # the history off.
    profile = ProfileDir.create_profile_dir_by_name(os.environ["TMPDIR"], "default")
    Path(profile.location, "db").mkdir()
    settings = "c = get_config()\nc.HistoryManager.enabled = False\nc.InteractiveShell.colors = 'NoColor'\n"
    Path(profile.location, "ipython_config.py").write_text(settings)
    os.environ["IPYTHONDIR"] = os.environ["TMPDIR"]
    wait = p4runtime.P4RuntimeClient.get_stream_packet

    def patient(client: Any, kind: str, timeout: float = 1) -> Any:
        return wait(client, kind, _ARBITRATION_SECONDS if kind == "arbitration" else timeout)

    p4runtime.P4RuntimeClient.get_stream_packet = patient
    raise_walls(["/"], connections=int(descriptor))
    election = f"0,{int(time.time())}"
    options = ["--grpc-addr", address, "--device-id", device_id, "--election-id", election]
    sys.argv = ["p4runtime-shell", *options]
    try:
        shell.main()
    finally:
        # Exit at once: the shell's receiving thread would keep a failed process alive.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


if __name__ == "__main__":
    main()
