"""Attacks: code whose `solve()` returns "BREACH" and what it got when it succeeds.

Words between at signs stand for things that the test provides: a secret file, a listening server, a process to kill.
"""

from __future__ import annotations

from textwrap import dedent

#: name -> code. Each of these also runs unsandboxed as a control, where it must succeed.
CONTROLLED: dict[str, str] = {
    "reads /etc/passwd": """
        def solve():
            return "BREACH " + open("/etc/passwd").read()[:20]
        """,
    "reads a file of the user": """
        def solve():
            return "BREACH " + open("@secret@").read()
        """,
    "reads a file with system calls of its own": """
        import ctypes
        def solve():
            libc = ctypes.CDLL(None, use_errno=True)
            fd = libc.open(b"@secret@", 0)
            if fd < 0:
                raise OSError(ctypes.get_errno(), "open")
            buffer = ctypes.create_string_buffer(100)
            libc.read(fd, buffer, 100)
            return "BREACH " + buffer.value.decode()
        """,
    "lists the home folder": """
        import os
        def solve():
            # With bubblewrap the way to the interpreter is there, made of empty folders.
            missing = set("@entries@".split()) - set(os.listdir("@home@"))
            if missing:
                raise OSError(f"{len(missing)} names are not to be seen")
            return "BREACH"
        """,
    "writes outside": """
        def solve():
            with open("@outside@", "w") as file:
                file.write("x")
            return "BREACH"
        """,
    "deletes a file": """
        import os
        def solve():
            os.remove("@victim@")
            return "BREACH"
        """,
    "changes a file's mode": """
        import os
        def solve():
            os.chmod("@secret@", 0o644)
            return "BREACH"
        """,
    "changes a file's times": """
        import os
        def solve():
            os.utime("@secret@", (1, 1))
            return "BREACH"
        """,
    "truncates a file by its path": """
        import os
        def solve():
            os.truncate("@victim@", 0)
            return "BREACH"
        """,
    "follows a symbolic link outside": """
        import os
        def solve():
            os.symlink("@secret@", "link")
            return "BREACH " + open("link").read()
        """,
    "makes a hard link to a file outside": """
        import os
        def solve():
            os.link("@secret@", "@hardlink@")
            return "BREACH " + open("@hardlink@").read()
        """,
    "opens its own memory": """
        def solve():
            with open("/proc/self/mem", "rb") as memory:
                return "BREACH " + repr(memory)
        """,
    "reads the parent's environment": """
        import os
        def solve():
            return "BREACH " + open(f"/proc/{os.getppid()}/environ").read()[:20]
        """,
    "finds a secret in its environment": """
        import ctypes, os
        def solve():
            libc = ctypes.CDLL(None)
            libc.getenv.restype = ctypes.c_char_p
            found = os.environ.get("MERROW_TEST_SECRET") or libc.getenv(b"MERROW_TEST_SECRET")
            if not found:
                raise KeyError("nothing")
            return "BREACH " + str(found)
        """,
    "connects over TCP": """
        import socket
        def solve():
            with socket.create_connection(("127.0.0.1", int("@port@")), timeout=2) as connection:
                return "BREACH " + str(connection.recv(10))
        """,
    "listens on a port": """
        import socket
        def solve():
            with socket.socket() as server:
                server.bind(("127.0.0.1", 0))
                server.listen()
                return "BREACH"
        """,
    "sends a datagram": """
        import socket
        def solve():
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                sender.sendto(b"x", ("127.0.0.1", 9))
            return "BREACH"
        """,
    "connects to a unix socket": """
        import socket
        def solve():
            with socket.socket(socket.AF_UNIX) as client:
                client.connect("@socket@")
            return "BREACH"
        """,
    "makes a datagram pair, which could be sent anywhere": """
        import socket
        def solve():
            one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
            return "BREACH"
        """,
    "forks": """
        import os
        def solve():
            if os.fork() == 0:
                os._exit(0)
            return "BREACH"
        """,
    "forks by a system call of its own": """
        import ctypes, os
        def solve():
            libc = ctypes.CDLL(None, use_errno=True)
            child = libc.fork()
            if child == 0:
                os._exit(0)
            if child < 0:
                raise OSError(ctypes.get_errno(), "fork")
            return "BREACH"
        """,
    "starts a program with os.system": """
        import os
        def solve():
            status = os.system("true")
            if status != 0:
                raise OSError(f"status {status}")
            return "BREACH"
        """,
    "starts a program with subprocess": """
        import subprocess
        def solve():
            return "BREACH " + subprocess.run(["echo", "hello"], capture_output=True, text=True, check=True).stdout
        """,
    "starts a program with posix_spawn": """
        import os
        def solve():
            os.posix_spawn("/bin/true", ["true"], {})
            return "BREACH"
        """,
    "starts processes with multiprocessing": """
        import multiprocessing
        def solve():
            process = multiprocessing.get_context("fork").Process(target=print)
            process.start()
            process.join()
            return "BREACH"
        """,
    "imports os by the back door": """
        def solve():
            for kind in ().__class__.__base__.__subclasses__():
                if kind.__name__ == "_wrap_close":
                    system = kind.__init__.__globals__["system"]
                    if system("true") == 0:
                        return "BREACH"
            raise OSError("no way")
        """,
    "kills another process": """
        import os
        def solve():
            os.kill(int("@process@"), 9)
            return "BREACH"
        """,
    "probes its parent with a signal": """
        import os
        def solve():
            os.kill(os.getppid(), 0)
            return "BREACH"
        """,
    "has signals sent to another process by a descriptor": """
        import fcntl, os
        def solve():
            reading, _ = os.pipe()
            fcntl.fcntl(reading, fcntl.F_SETOWN, int("@process@"))
            return "BREACH"
        """,
    "raises its limits": """
        import resource
        def solve():
            soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft - 1, hard - 1))
            return "BREACH"
        """,
    "makes a file that lives in memory only": """
        import os
        def solve():
            os.memfd_create("x")
            return "BREACH"
        """,
    "leaves shared memory behind": """
        from multiprocessing import shared_memory
        def solve():
            block = shared_memory.SharedMemory(create=True, size=100)
            block.close()
            block.unlink()
            return "BREACH"
        """,
    "makes a message queue that outlives it": """
        import ctypes
        def solve():
            libc = ctypes.CDLL(None, use_errno=True)
            queue = libc.msgget(0, 0o1600)
            if queue < 0:
                raise OSError(ctypes.get_errno(), "msgget")
            libc.msgctl(queue, 0, None)
            return "BREACH"
        """,
    "leaves its process group": """
        import os
        def solve():
            os.setpgid(0, 0) if os.getpgrp() != os.getpid() else os.getpgid(1)
            os.umask(0)
            os.setpriority(os.PRIO_PROCESS, 0, 19)
            return "BREACH"
        """,
}

#: Attacks by numbers of system calls (x86_64): what a kernel that allows them answers differs from machine to machine, so that
#: there is no control; here the answer must be EPERM or ENOSYS.
SYSTEM_CALLS: dict[str, tuple[int, ...]] = {
    "ptrace": (101,),
    "process_vm_readv": (310,),
    "process_vm_writev": (311,),
    "io_uring_setup": (425,),
    "mount": (165,),
    "unshare": (272,),
    "setns": (308,),
    "keyctl": (250,),
    "add_key": (248,),
    "bpf": (321,),
    "perf_event_open": (298,),
    "userfaultfd": (323,),
    "execve": (59,),
    "execveat": (322,),
    "clone3": (435,),
    "vfork": (58,),
    "socket": (41,),
    "chroot": (161,),
    "pivot_root": (155,),
    "setuid": (105,),
    "capset": (126,),
    "reboot": (169,),
    "init_module": (175,),
    "open_by_handle_at": (304,),
    "openat2": (437,),
    "pidfd_open": (434,),
    "pidfd_send_signal": (424,),
    "shmget": (29,),
    "personality": (135,),
    "syslog": (103,),
    "inotify_init1": (294,),
    "fanotify_init": (300,),
    "mknod": (133,),
    "setxattr": (188,),
    "landlock_create_ruleset": (444,),
    "seccomp": (317,),
}


def code(text: str, places: dict[str, str]) -> str:
    """An attack's code with what the test provides."""
    source = dedent(text)
    for name, value in places.items():
        source = source.replace(f"@{name}@", value)
    return source
