# SPDX-License-Identifier: Apache-2.0
"""Turn rules, virtual lanes, and the channel dependency graph that proves a plan free of deadlock."""
