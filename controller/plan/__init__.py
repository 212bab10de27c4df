# SPDX-License-Identifier: Apache-2.0
"""Plans as values.

entry         one table entry, its matches and parameters; paths and pairs of nodes
path_columns  pairs (source, destination), and the paths of many pairs, in columns
routes        the path of each bucket of each pair, and weights, in columns
rows          table entries in columns: rows of one table, all entries of a node
plan          Plan: routes, shares and entries of a fabric
subscribers   sources to notify of a failed link
updates       writes of table entries: one write, and all writes of a node in blocks of rows
row_keys      differences of blocks of rows, in columns
diff          updates that turn one set of entries into another
"""
