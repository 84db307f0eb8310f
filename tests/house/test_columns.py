"""No bag of JSON: each JSON column is known, and why it is one."""

from django.apps import apps
from django.db.models import JSONField

from tests.house.exceptions import JSON_COLUMNS

OURS = {"study", "llm", "memory", "chat", "annotation", "console", "release", "studyplatform"}


def test_every_json_column_is_listed_with_its_reason():
    found = {
        f"{model._meta.app_label}.{model.__name__}.{field.name}"
        for model in apps.get_models()
        if model._meta.app_label in OURS
        for field in model._meta.get_fields()
        if isinstance(field, JSONField)
    }
    assert found == set(JSON_COLUMNS)


def test_what_a_page_may_name_has_a_public_code():
    named = ("Participant", "Session", "StageRun", "Memory", "Condition")
    without = [
        m.__name__
        for m in apps.get_models()
        if m._meta.app_label in OURS and m.__name__ in named and "code" not in {f.name for f in m._meta.get_fields()}
    ]
    assert without == []
