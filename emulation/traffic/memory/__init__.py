# SPDX-License-Identifier: Apache-2.0
"""Load, store, atomics and messages between nodes, and memory that nodes lend to each other, sans-IO.

wire        frames of requests and responses
memory      the memory of a lender, and what an operation does to it
requester   operations on a lender: requests, responses, retries
responder   a lender's side of a connection: every operation takes effect once
extents     pages of borrowers on lenders
borrower    a program of operations on borrowed pages, which checks every value
agent       the station of a node that borrows, lends, or does both
"""
