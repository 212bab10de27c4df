# SPDX-License-Identifier: Apache-2.0
"""Numbers of Linux system calls on x86-64 and 64-bit Arm, and the calls that are refused to students' code.

The numbers come from asm/unistd_64.h and asm-generic/unistd.h.
"""

from typing import NamedTuple

__all__ = ["ARCHITECTURES", "Architecture"]


class Architecture(NamedTuple):
    """Numbers of an architecture's system calls.

    `audit` identifies the architecture to the kernel. Calls in `refused` are always refused; calls with an
    attribute of their own are refused for some arguments.
    """

    audit: int
    clone: int
    clone3: int
    socket: int
    socketpair: int
    connect: int
    prlimit: int
    seccomp: int
    refused: tuple[int, ...]


# Name: number on x86-64, number on 64-bit Arm; 0 where the architecture has no such call.
_REFUSED = {
    # Processes and programs.
    "fork": (57, 0),
    "vfork": (58, 0),
    "execve": (59, 221),
    "execveat": (322, 281),
    # Signals, and the memory and descriptors of other processes.
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424),
    "pidfd_getfd": (438, 438),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    # Priority of other processes, and own limits.
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "sched_setattr": (314, 274),
    "sched_setaffinity": (203, 122),
    "setrlimit": (160, 164),
    # Mounts and namespaces.
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "chroot": (161, 51),
    "pivot_root": (155, 41),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    # The machine: its name, clock, swap, kernel modules, log and devices.
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "syslog": (103, 116),
    "vhangup": (153, 58),
    "reboot": (169, 142),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "iopl": (172, 0),
    "ioperm": (173, 0),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    # Memory, queues and keys that processes share by a number or a name.
    "shmget": (29, 194),
    "shmat": (30, 196),
    "msgget": (68, 186),
    "semget": (64, 190),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    # Files: by handle instead of name; watched; mode, owner, times, attributes or length changed.
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "inotify_add_watch": (254, 27),
    "fanotify_init": (300, 262),
    "chmod": (90, 0),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, 0),
    "fchown": (93, 55),
    "lchown": (94, 0),
    "fchownat": (260, 54),
    "utime": (132, 0),
    "utimes": (235, 0),
    "utimensat": (280, 88),
    "futimesat": (261, 0),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "setxattrat": (463, 463),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "removexattrat": (466, 466),
    "truncate": (76, 45),
}

_X86_64, _AARCH64 = (
    tuple(number for number in column if number) for column in zip(*_REFUSED.values(), strict=True)
)

# By the machine's name, as `platform.machine()` gives it.
ARCHITECTURES = {
    "x86_64": Architecture(0xC000003E, 56, 435, 41, 53, 42, 302, 317, _X86_64),
    "aarch64": Architecture(0xC00000B7, 220, 435, 198, 199, 203, 261, 277, _AARCH64),
}
