# SPDX-License-Identifier: Apache-2.0
"""Run a student's code in a confined process, and get its results as JSON.

run       in the parent: start the process; turn every failure into a sentence
child     in the process: set limits, then run the student's file; imports only the standard library
walls     let the kernel refuse system calls and files to the process (seccomp, Landlock)
shell     run p4runtime-shell in a confined process, for lines that a student wrote
limited   start a program such as a compiler with limits and confined reads
readable  files and folders that a confined process may read
"""
