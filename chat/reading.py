"""How recall reads in a web process (`memory.lookups.Reads`): on the pool's connections, and what is synchronous in a thread."""

from chat.pool import rows
from chat.threads import run

__all__ = ["rows", "run"]
