"""A code for the study in its participants' addresses, and when a participant left."""

from django.db import migrations, models

import studyplatform.study.codes


class Migration(migrations.Migration):
    dependencies = [("study", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="participant",
            name="left_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="study",
            name="code",
            field=models.CharField(default=studyplatform.study.codes.code8, max_length=8, unique=True),
        ),
    ]
