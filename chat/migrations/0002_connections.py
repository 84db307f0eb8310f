import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("chat", "0001_initial"),
        ("study", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Connection",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("process", models.CharField(max_length=80)),
                ("opened_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("seen_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("closed_at", models.DateTimeField(blank=True, null=True)),
                ("code", models.PositiveIntegerField(help_text="of the websocket's close", null=True)),
                ("reason", models.CharField(blank=True, max_length=40)),
                ("session", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="connections", to="study.session")),
            ],
            options={
                "indexes": [
                    models.Index(condition=models.Q(("closed_at__isnull", True)), fields=["session"], name="connections_open"),
                ],
            },
        ),
    ]
