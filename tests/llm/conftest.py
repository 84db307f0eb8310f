from tests.memory.conftest import model
from tests.scripted_server import script, scripted

__all__ = ["model", "script", "scripted"]
