# SPDX-License-Identifier: Apache-2.0
"""Verbs for single frames: `railyard craft`, `follow`, `send`, `dissector`.

options.py   options of the verbs that follow a frame
"""
