from django.apps import AppConfig


class StudyConfig(AppConfig):
    name = "studyplatform.study"
    label = "study"

    def ready(self) -> None:
        from studyplatform.study import erasing

        erasing.register(erasing.Identity, erasing.QuestionPairs, erasing.Stages)
