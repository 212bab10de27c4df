# SPDX-License-Identifier: Apache-2.0
"""The P4Runtime entities of one switch, each kind read and written by its own module."""
