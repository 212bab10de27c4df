# SPDX-License-Identifier: Apache-2.0
"""Values added by a user without editing this project.

python_file   values named FILE:NAME, such as mine.py:make; errors name the line of the file
entry_points  registry of values: built in, registered, of installed packages, of Python files
"""
