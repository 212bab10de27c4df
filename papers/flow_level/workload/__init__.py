# SPDX-License-Identifier: Apache-2.0
"""Workload of a simulated cluster: jobs, when they arrive and which NPUs each gets.

jobs.py       a job as iterations of computation and phases of flows between ranks
traces.py     arrivals, durations and sizes of jobs, drawn from a seed or read from a file
placement.py  the cluster's shape and the NPUs of a job
"""
