# SPDX-License-Identifier: Apache-2.0
"""Memory pools in a run: lenders lend memory, and borrowers load from it and store to it.

plan     lenders, borrowers and the directory of pages; the outcome
running  agents on a testbed, and the check of all values and copies
"""
