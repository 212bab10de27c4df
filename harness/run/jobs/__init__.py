# SPDX-License-Identifier: Apache-2.0
"""Jobs on a running testbed.

running     jobs, and the agents of their members
scheduling  priorities of jobs, chosen from measurements of each job
"""
