"""The language model as a policy sees it: `Ask`, with the policy's own prompts beside the policy."""

from dataclasses import dataclass
from pathlib import Path

from memory.arms import ArmRef
from memory.policy import Schema, Unparsable
from studyplatform.llm import asking, prompts
from studyplatform.llm.streaming import ModelFailed

FOLDER = Path(__file__).parent / "policies"
HURRIED_S = 10.0


@dataclass(frozen=True)
class Asker:
    """Asks the study's controller model (else its response model) for one arm, on behalf of one session's turn.

    `hurried`: somebody waits for a reply, so a model that does not answer soon counts as one that said nothing readable.
    """

    arm: ArmRef
    purpose: str
    session_code: str
    session_id: int | None = None
    seq: int | None = None
    hurried: bool = False

    def __call__(self, prompt: str, schema: type[Schema], **variables: str) -> Schema:
        """Prompt `name@version` of `memory/policies/`.

        Raises:
            Unparsable: the answer did not fit the schema, twice.
            studyplatform.llm.streaming.ModelFailed: no answer; never when hurried.
        """
        config = self.arm.config
        name = config.memory.controller_model or config.chat.response_model
        model = asking.Model(name, timeout_s=HURRIED_S if self.hurried else asking.TIMEOUT_S)
        purpose = asking.Purpose(self.purpose, self.arm.study_id, self.session_code, self.session_id, self.seq)
        try:
            return asking.ask(schema, purpose, model, prompts.load(prompt, FOLDER), **variables)
        except asking.BadAnswer as error:
            raise Unparsable(str(error), error.raw) from error
        except ModelFailed as error:
            if not self.hurried:
                raise
            raise Unparsable(f"no answer: {error}") from error
