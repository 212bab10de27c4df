# SPDX-License-Identifier: Apache-2.0
"""Terminal output of the verbs: tables, progress, summaries of runs and studies, frames and their hops."""
