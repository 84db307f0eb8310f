from django.apps import AppConfig


class LLMApp(AppConfig):
    name = "studyplatform.llm"
    label = "llm"

    def ready(self) -> None:
        from studyplatform.llm.erasing import ModelCalls
        from studyplatform.study import erasing

        erasing.register(ModelCalls)
