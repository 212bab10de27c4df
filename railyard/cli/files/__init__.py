# SPDX-License-Identifier: Apache-2.0
"""Verbs for files that leave or enter the project: `railyard bundle`, `export`, `import`.

foreign.py   files of other tools given to `railyard run`
"""
