# SPDX-License-Identifier: Apache-2.0
"""Features of a scenario, on the embedded testbed and on Mininet.

features.yaml  a small scenario for each feature
compare        frames, data and order of events of two runs
table          the table of docs/testbeds/mininet.md, from stored results
results.json   results of the last run of all features
"""
