# SPDX-License-Identifier: Apache-2.0
"""Load, store, atomics and messages between nodes, and memory that nodes lend to each other, sans-IO.

These agents are in Python on both testbeds, the only agents that are: their program is drawn from Python's
random numbers and checks every value as it arrives, a pool has a few nodes and thousands of frames, and no
specification in another language stands beside them. A run with a pool therefore takes one thread.

wire        frames of requests and responses
memory      the memory of a lender, and what an operation does to it
requester   operations on a lender: requests, responses, retries
responder   a lender's side of a connection: every operation takes effect once
extents     pages of borrowers on lenders
borrower    a program of operations on borrowed pages, which checks every value
agent       the host of a node that borrows, lends, or does both
"""
