from tests.memory.conftest import model

__all__ = ["model"]
