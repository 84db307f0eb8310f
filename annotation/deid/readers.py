"""How many people read each transcript."""

from studyplatform.study.models import Study
from studyplatform.study.studies import config_of


def needed(study: Study) -> int:
    """The number of independent readers, who must all approve: at least two."""
    return config_of(study).deid.reviewers
