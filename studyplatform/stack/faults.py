"""What can go wrong on somebody's machine, each said in one line that ends with what to do."""

import re
import signal


class StackFault(Exception):
    """The local stack cannot do what was asked; the message says what is wrong and what to do."""


class PortTaken(StackFault):
    """Between the choice of a port and its use, another program took it."""


TAKEN = r"[Aa]ddress already in use|could not bind|Can't bind|couldn't bind"

# Looked for in the last lines of a service's log, first match wins.
_SIGNS: tuple[tuple[str, str], ...] = (
    (r"No space left on device|disk full|OOM.*AOF|MISCONF", "the disk is full: free some space there, or set STACK_DIR to a folder on another disk"),
    (TAKEN, "its port was taken meanwhile: run `manage.py stack down`, then `up` again"),
    (r"ModuleNotFoundError|ImportError|cannot open shared object", "a package is missing or broken: run `make setup`"),
    (r"Illegal instruction", "this processor lacks an instruction that it needs (AVX2): see docs/operations.md, Processors"),
    (r"initialized by PostgreSQL version|incompatible with server", "the data are of another Postgres version: see docs/operations.md, Upgrade"),
    (r"Permission denied|Operation not permitted", "it may not read or write its files: check the owner of the state folder"),
    (r"password authentication failed", "secrets.json does not belong to these data: restore both from the same backup"),
    (r"Cannot allocate memory|MemoryError|bad_alloc", "memory ran out: close other programs, or leave out the models (`--only postgres,redis,web,workers`)"),
    (r"These settings are missing or wrong", "a setting is wrong: the log names it"),
)  # fmt: skip


def explain(name: str, exit_code: int | None, log_tail: str, log_path: str) -> str:
    """One line about a service that stopped or never answered: what happened, and what to do.

    `exit_code` is the process's own, negative for a signal, None when it runs but does not answer.
    """
    for pattern, advice in _SIGNS:
        if re.search(pattern, log_tail):
            return f"{name}: {advice} (log: {log_path})"
    return f"{name}: {_manner(exit_code, log_tail)} (log: {log_path})"


def _manner(exit_code: int | None, log_tail: str) -> str:
    if exit_code is None:
        return "runs but does not answer: read its log"
    if exit_code == -signal.SIGILL:
        return "this processor lacks an instruction that it needs (AVX2): see docs/operations.md, Processors"
    if exit_code == -signal.SIGKILL:
        return "was killed, by hand or by the system when memory ran out: close other programs if it happens again"
    if exit_code < 0:
        return f"was ended by signal {signal.Signals(-exit_code).name}: read its log"
    last = log_tail.strip().splitlines()[-1:] or ["read its log"]
    return f"ended with status {exit_code}: {last[0][:200]}"
