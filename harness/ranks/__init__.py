# SPDX-License-Identifier: Apache-2.0
"""Programs of ranks on a fabric in virtual time: each rank computes by itself and calls collectives.

calls        a rank's part of an operation: kind, data, element type
traffic      calls of all members of an operation as slices for agents, and arrays back as results
session      a fabric kept running: operations begin and end while virtual time passes
store        keys and values that ranks share, with waits in virtual time
operations   calls of ranks matched to operations, their ends and failures
coordinator  the clocks of all ranks and of the fabric, which advances when no rank can call before
"""
