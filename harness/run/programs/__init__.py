# SPDX-License-Identifier: Apache-2.0
"""P4 programs of a run.

network_header  programs for the CNA24 header, congestion marks and sums in switches, and their limits
own_cells       counters and registers that a user's P4 program adds to those of the built-in program
own_program     P4 programs of the user's own in place of built-in programs
"""
