"""Every scorer, by the name that a study file uses, and the constants calibrated for each."""

from collections.abc import Callable, Iterator

from memory.measures.arousal import RidgeArousal
from memory.measures.importance import ModelImportance
from memory.measures.perplexity import ServerPerplexity
from memory.measures.scorer import Scorer
from memory.policy import Scale
from studyplatform.llm import providers
from studyplatform.study.config import StudyConfig

# The perplexity of each model has its own scale. Cap: the 95th percentile over the participants' utterances of a calibration set;
# divisor: such that the term's mean is .304, the mean of the arousal term (memory-systems 1.7, row 3). `manage.py calibrate_scorer`
# finds both; these are of released LUFY conversations, November 2026. What the numbers mean: docs/memory/lufy.md.
PERPLEXITY_SCALES: dict[str, Scale] = {
    "local/smollm2": Scale(cap=6831.6, divisor=6254.5),  # n = 500 exchanges, seed 1
    "scripted/script": Scale(cap=460.5, divisor=1260.8),  # n = 2,569, all
}


def _arousal(config: StudyConfig) -> Scorer:
    return RidgeArousal("scripted/hash" if _scripted(config) else "local/minilm")


def _perplexity(config: StudyConfig) -> Scorer:
    model = "scripted/script" if _scripted(config) else "local/smollm2"
    return ServerPerplexity(model, PERPLEXITY_SCALES.get(model))


def _scripted(config: StudyConfig) -> bool:
    """A simulated study on the scripted server is measured there too, so that it needs no local model."""
    return config.chat.response_model.startswith("scripted/")


AROUSAL: dict[str, Callable[[StudyConfig], Scorer]] = {"ridge_emobank": _arousal}
# The paper's model and its code's, wherever a deployment serves them (provider `perplexity`), with the paper's cap and the fitted divisor.
_GPT2 = Scale(cap=160.0, divisor=400.0)
PERPLEXITY: dict[str, Callable[[StudyConfig], Scorer]] = {
    "local": _perplexity,
    "gpt2_large": lambda config: _perplexity(config) if _scripted(config) else ServerPerplexity("perplexity/gpt2-large", _GPT2),
    "gpt2": lambda config: _perplexity(config) if _scripted(config) else ServerPerplexity("perplexity/gpt2", _GPT2),
}


def of(config: StudyConfig) -> tuple[Scorer, ...]:
    """The scorers of a study: one per measure."""
    importance = ModelImportance(config.memory.importance_model or config.chat.response_model, config.prompts.importance)
    return (AROUSAL[config.memory.arousal](config), PERPLEXITY[config.memory.perplexity](config), importance)


def scales(config: StudyConfig) -> dict[str, Scale]:
    """The constants of the study's scorers, by measure."""
    return {scorer.measure: scorer.scale for scorer in of(config) if scorer.scale is not None}


def faults(config: StudyConfig) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Scorers that a study names and that do not exist."""
    for key, known in (("arousal", AROUSAL), ("perplexity", PERPLEXITY)):
        name = getattr(config.memory, key)
        if name not in known:
            yield ("memory", key), f"There is no scorer “{name}”. There are: {', '.join(known)}."
    if config.memory.perplexity.startswith("gpt2") and not _scripted(config):
        try:
            providers.resolve("perplexity/gpt2")
        except providers.UnknownProvider as error:
            yield ("memory", "perplexity"), str(error)
