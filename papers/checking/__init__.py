# SPDX-License-Identifier: Apache-2.0
"""Parts that several experiments share: large runs for their claims, statements of those that stay code.

The checks of experiments 2, 31, 32, 38, 39 and 42 are code: they need another testbed, or another simulator.

large_runs.py   a large scenario run for claims: figures, processor time, memory
balance.py      frames on the cables and aggregation switches of HPN, for its large runs
statements.py   statements printed with yes or no
completion.py   completion of tasks here and in another simulator
testbeds.py     scenarios on every testbed of the machine, compared
"""
