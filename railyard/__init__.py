# SPDX-License-Identifier: Apache-2.0
"""Floor 6: the face. What a person imports, types or opens.

Knows every floor below; nobody knows it.

    cli    the command `railyard`, one file a verb
"""
