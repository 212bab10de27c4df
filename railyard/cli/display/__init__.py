# SPDX-License-Identifier: Apache-2.0
"""Terminal output of the verbs: tables that fit, progress, a run's summary, a frame's headers."""
