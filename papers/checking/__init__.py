# SPDX-License-Identifier: Apache-2.0
"""Modules shared by the checks of several experiments.

Most checks are claims. The checks of experiments 2, 31, 32, 38, 39, 42, 46 and 47 are Python code, because
they need another testbed, another simulator or PyTorch.

large_runs.py   a large scenario run for claims: figures, processor time, memory
balance.py      frames on the cables and aggregation switches of HPN, for its large runs
statements.py   statements printed with yes or NO, headings of tables
completion.py   completion of tasks in Railyard and in another simulator
testbeds.py     comparison of scenarios on every testbed of the machine
"""
