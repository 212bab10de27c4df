# SPDX-License-Identifier: Apache-2.0
"""P4 programs of a run.

network_header  programs for the CNA24 header and for congestion marks, and their limits
own_cells       counters and registers that programs of the user's own have beside those of built-in programs
own_program     a P4 program of the user's own
"""
