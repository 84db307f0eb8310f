from django.apps import AppConfig


class ChatApp(AppConfig):
    name = "chat"
    label = "chat"

    def ready(self) -> None:
        from chat.erasing import Utterances
        from studyplatform.study import erasing

        erasing.register(Utterances)
