from django.apps import AppConfig


class MemoryApp(AppConfig):
    name = "memory"
    label = "memory"

    def ready(self) -> None:
        from memory import erasing as own
        from studyplatform.study import erasing

        erasing.register(own.Memories, own.Writes, own.Reasons, own.Summaries, own.Wishes)
