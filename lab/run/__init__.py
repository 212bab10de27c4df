# SPDX-License-Identifier: Apache-2.0
"""A scenario's values to an observation: prepare, boot, run, collect."""
