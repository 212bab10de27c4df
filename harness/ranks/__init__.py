# SPDX-License-Identifier: Apache-2.0
"""Run user programs, one process per rank, whose collectives are carried out on a fabric in virtual time.

calls        a rank's call of an operation: kind, data, element type
traffic      convert the calls of an operation to slices for agents, and the agents' arrays to results
session      a running fabric, on which operations begin and end while virtual time passes
store        key-value store that ranks share, with waits in virtual time
operations   match the calls of ranks to operations; ends and failures of operations
coordinator  keep the clocks of all ranks and the fabric's virtual time in step
"""
