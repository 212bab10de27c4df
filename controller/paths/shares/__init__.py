# SPDX-License-Identifier: Apache-2.0
"""Shares of traffic on paths, and standby paths for failed or overloaded paths.

weights            shares of paths: equal, by rate, by demand; apportioned to 16 buckets
linear_program     sparse linear programs, solved by HiGHS
column_generation  longer paths for a demand; loads numpy
standby            paths that carry nothing as planned, for failures and congestion
overflow           longer paths for traffic that leaves a failed link, by the load that the plan puts on links
repathing          what replaces paths over which an agent hears nothing, whichever link is at fault
"""
