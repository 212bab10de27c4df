# SPDX-License-Identifier: Apache-2.0
"""Verbs to export or import files: `railyard bundle`, `export`, `import`.

foreign.py   imports files of other tools given to `railyard run`
"""
