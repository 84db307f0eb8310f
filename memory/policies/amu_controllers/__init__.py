"""Who describes an utterance and compares two records, for AMU: a small classifier over embeddings, or a language model through `ask`."""

from memory.policies.amu_controllers.interface import ASPECTS, INTENTS, Controller, Labels, Record, Relation, Said, Slot
from memory.policies.amu_controllers.language_model import LanguageModel
from memory.policies.amu_controllers.prototype import Prototype

CONTROLLERS: dict[str, Controller] = {"prototype": Prototype(), "model": LanguageModel()}

__all__ = ["ASPECTS", "CONTROLLERS", "INTENTS", "Controller", "Labels", "Record", "Relation", "Said", "Slot"]
