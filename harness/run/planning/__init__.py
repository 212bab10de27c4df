# SPDX-License-Identifier: Apache-2.0
"""Plans of the jobs of a variant, and checks of its faults and circuits.

faults        faults, with their targets found in the fabric
circuits      checks of optical circuits that follow the jobs
job_plan      plan of a job: members, slices, lower bounds
graphs        traffic graphs, and jobs that share members
planner       plans of all jobs of a variant, checked against the fabric and against each other
serdes_lanes  SerDes lanes of jobs: divided among dimensions, moved when a job starts
"""
