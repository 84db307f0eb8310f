"""Who describes an utterance and compares two records, for AMU: by labelled examples, or by a language model through `ask`."""

from memory.policies.amu_controllers.interface import ASPECTS, INTENTS, Controller, Record, Relation
from memory.policies.amu_controllers.prototype import Prototype

CONTROLLERS: dict[str, Controller] = {"prototype": Prototype()}

__all__ = ["ASPECTS", "CONTROLLERS", "INTENTS", "Controller", "Record", "Relation"]
