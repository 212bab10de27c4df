# SPDX-License-Identifier: Apache-2.0
"""Parts that the `check.py` of several experiments share: statements about results, and tables of them.

Nothing starts a process here: a check hands in `railyard.run`, or the result of the command.

statements.py   statements printed with yes or no, metrics as a table, how evenly frames are spread
large_runs.py   a scenario run with limits on processor time and memory, and facts about its result
balance.py      frames on the cables and aggregation switches of HPN, for its large runs
completion.py   completion of tasks here and in another simulator
testbeds.py     a scenario on every testbed of the machine
"""
