# SPDX-License-Identifier: Apache-2.0
"""A student's code in a process with limits, which hands over JSON.

run       the parent's side: starts the process, and says in a sentence why it gave no answer
child     the process: limits first, then the student's file; imports the standard library only
walls     system calls and files that the kernel refuses to the process (seccomp, Landlock)
shell     p4runtime-shell behind the walls, for lines that a student types
limited   the start of a program such as a compiler, with limits and confined reads
readable  files and folders that such a process may read
"""
