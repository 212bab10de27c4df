# SPDX-License-Identifier: Apache-2.0
"""Run a student's code in a confined process, and get its results as JSON.

run           in the parent: start the process; turn every failure into a sentence
child         in the process: set limits, then run the student's file; imports only the standard library
walls         let the kernel refuse system calls and files to the process (seccomp, Landlock)
landlock      let the kernel refuse files
system_calls  numbers of the system calls that walls refuses
connections   in the parent: connect the process to a single server, whatever address it asks for
shell         run p4runtime-shell in a confined process, for lines that a student wrote
limited       start a program such as a compiler with limits and confined reads
readable      files and folders that a confined process may read
"""
