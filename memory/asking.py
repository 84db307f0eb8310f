"""The language model as a policy sees it: `Ask`, with the policy's own prompts beside the policy."""

from dataclasses import dataclass
from pathlib import Path

from memory.arms import ArmRef
from memory.policy import Schema, Unparsable
from studyplatform.llm import asking, prompts

FOLDER = Path(__file__).parent / "policies"


@dataclass(frozen=True)
class Asker:
    """Asks the study's controller model (else its response model) for one arm, on behalf of one session's turn."""

    arm: ArmRef
    purpose: str
    session_code: str
    session_id: int | None = None
    seq: int | None = None

    def __call__(self, prompt: str, schema: type[Schema], **variables: str) -> Schema:
        """Prompt `name@version` of `memory/policies/`.

        Raises:
            Unparsable: the answer did not fit the schema, twice.
            studyplatform.llm.streaming.ModelFailed: no answer.
        """
        config = self.arm.config
        model = asking.Model(config.memory.controller_model or config.chat.response_model)
        purpose = asking.Purpose(self.purpose, self.arm.study_id, self.session_code, self.session_id, self.seq)
        try:
            return asking.ask(schema, purpose, model, prompts.load(prompt, FOLDER), **variables)
        except asking.BadAnswer as error:
            raise Unparsable(str(error), error.raw) from error
