from django.apps import AppConfig


class DeidApp(AppConfig):
    name = "annotation.deid"
    label = "deid"
    verbose_name = "De-identification"

    def ready(self) -> None:
        from annotation.deid.erasing import DeidentifiedTexts, Pseudonyms
        from studyplatform.study.erasing import register

        register(DeidentifiedTexts, Pseudonyms)
