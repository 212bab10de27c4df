# SPDX-License-Identifier: Apache-2.0
"""Jobs on a running testbed.

running     jobs and their agents
scheduling  priorities of jobs from measurements
"""
