"""What is right as it is, each with the reason. Keep it short; an entry that is no longer needed fails a test."""

# Modules over 400 lines.
LONG_MODULES: dict[str, str] = {}

# Functions over 50 lines, as `path:name`.
LONG_FUNCTIONS: dict[str, str] = {}

# JSON columns: what is only written and read whole, never filtered, joined or published.
JSON_COLUMNS: dict[str, str] = {
    "study.Study.config": "the study file as parsed; read through StudyConfig",
    "study.Study.replay": "what a replay was asked to do, kept whole so that it can go on; read through replaying.wishes.Wish",
    "study.Amendment.config": "the amended study file as parsed; read through StudyConfig",
    "study.Condition.parameters": "a preset's overrides; read through the policy's own fields",
    "llm.LLMCall.parameters": "what was sent to the model, kept for provenance",
    "llm.LLMCall.messages": "the prompt as it was sent, kept for provenance",
    "memory.Memory.fields": "a structured record's fields, which differ between policies; read through policy.Memory",
    "memory.Memory.measures": "a summary's own measures; read through policy.Memory",
    "memory.EncoderCalibration.thresholds": "a few cosines by name, read whole through encoders.get",
    "memory.EncoderCalibration.provenance": "what the thresholds were found on, for people who read it",
    "memory.MemoryEvent.why": "the terms of a decision, which differ between policies",
}
