# SPDX-License-Identifier: Apache-2.0
"""Switches of a fabric as processes in a namespace.

processes    processes of the run: BMv2, one for each switch, or built-in, each for many switches
bmv2_queues  depth and rate of BMv2's queues
"""
