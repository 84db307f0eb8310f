from django.apps import AppConfig


class LLMApp(AppConfig):
    name = "studyplatform.llm"
    label = "llm"
