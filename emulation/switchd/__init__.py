# SPDX-License-Identifier: Apache-2.0
"""railyard-switchd: the engine as a process on Linux interfaces, in real time.

command   the process: switches, P4Runtime server, logging, signals
options   the command line, which is that of BMv2's simple_switch_grpc
"""
