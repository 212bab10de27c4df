# SPDX-License-Identifier: Apache-2.0
"""What every test rests on."""

import signal

# A script's background jobs ignore Ctrl-C, and so would each process that a test starts to interrupt it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
