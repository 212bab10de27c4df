# SPDX-License-Identifier: Apache-2.0
"""Shares of traffic on paths, and standby paths for failed or overloaded paths.

weights            shares of paths for a demand, and their apportionment to 16 buckets
buckets            paths of the buckets of many pairs of endpoints, in arrays: shares equal or by weight
linear_program     sparse linear programs, solved by HiGHS
column_generation  longer paths for a demand
standby            paths in buckets of weight 0, used only after a failure or in congestion
overflow           longer paths for traffic of a failed link, chosen by the planned load of links
repathing          replacement of paths on which an agent's frames time out, while the faulty link is unknown
"""
