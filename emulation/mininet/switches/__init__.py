# SPDX-License-Identifier: Apache-2.0
"""Switches of a fabric as processes in a namespace.

processes    a BMv2 process for each switch, or built-in processes for many switches each
bmv2_queues  length and rate of BMv2's queues
"""
