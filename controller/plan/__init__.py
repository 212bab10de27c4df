# SPDX-License-Identifier: Apache-2.0
"""Plans as values.

entry   one table entry, its matches and parameters; paths and pairs of nodes
rows    table entries in columns: rows of one table, all entries of a node
plan    Plan: routes, shares and entries of a fabric
diff    updates that turn one set of entries into another
"""
