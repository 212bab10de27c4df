# SPDX-License-Identifier: Apache-2.0
"""Load, store, atomics and messages between nodes, and memory that nodes lend to each other, sans-IO.

Unlike all other agents, these run in Python on both testbeds: their program draws Python's random numbers and
checks every value as it arrives, and a pool has only a few nodes and thousands of frames. So they need no
implementation in C++, and a run with a pool takes one thread.

wire        frames of requests and responses
memory      the memory of a lender, and the effect of each operation on it
requester   a borrower's side of a connection: requests, responses, retries
responder   a lender's side of a connection: every operation takes effect once
extents     directory of the pages that lenders hold for borrowers
borrower    a program of operations on borrowed pages, which checks every value
agent       the host of a node that borrows, lends, or does both
"""
