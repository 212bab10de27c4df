# SPDX-License-Identifier: Apache-2.0
"""Values that a user adds without an edit of this project.

python_file   a name of a Python file, such as mine.py:make, and errors with their line
entry_points  values by name: ours, registered ones, of installed packages, of Python files
"""
