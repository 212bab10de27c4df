# SPDX-License-Identifier: Apache-2.0
"""Testbed 1: every switch in this process, in virtual time."""
