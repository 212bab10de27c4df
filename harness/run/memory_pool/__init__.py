# SPDX-License-Identifier: Apache-2.0
"""A memory pool in a run: nodes lend memory, others load and store.

plan     lenders, borrowers and the directory of pages; the outcome
running  agents on a testbed, and the check of all values and copies
"""
