# SPDX-License-Identifier: Apache-2.0
"""What the verbs print on a terminal: tables that fit, progress, a run's summary, a frame's headers."""
