# SPDX-License-Identifier: Apache-2.0
"""Jobs of a run, from their plans to their ends.

plan        plan of a job: members, slices, bounds
planner     plans of all jobs of a variant, checked against the fabric and each other
graphs      traffic graphs, and jobs that share members
running     jobs and their agents on a running testbed
graph_ends  the jobs of a traffic graph at their end
scheduling  priorities of jobs from measurements
"""
