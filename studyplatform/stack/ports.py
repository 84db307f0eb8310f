"""Choosing ports on the loopback address: the wanted one, else the next that is free."""

import errno
import socket

from studyplatform.stack.faults import StackFault

HOST = "127.0.0.1"
WANTED = {"postgres": 15432, "valkey": 16379, "chat-model": 8101, "encoder": 8102, "scripted": 8103, "web": 8000}


def is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                return False
            raise
    return True


def choose(wanted: int, taken: set[int]) -> int:
    """The first free port from `wanted` on that is not in `taken`.

    Raises:
        StackFault: none of two hundred is free.
    """
    for port in range(wanted, min(wanted + 200, 65536)):
        if port not in taken and is_free(port):
            return port
    raise StackFault(
        f"No free port from {wanted} to {wanted + 199}: stop what uses them, or run `manage.py stack down` in other checkouts."
    )


def answers(port: int, timeout_s: float = 0.5) -> bool:
    """Whether something accepts connections there."""
    try:
        with socket.create_connection((HOST, port), timeout=timeout_s):
            return True
    except OSError:
        return False
