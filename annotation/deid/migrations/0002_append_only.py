"""Spans, decisions, versions, their lines and approvals can be added to, and erased by withdrawal (which names itself), and never changed."""

from django.db import migrations

TABLES = ("deid_span", "deid_decision", "deid_deidversion", "deid_versionline", "deid_approval")
GUARD = """
CREATE FUNCTION deid_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('studyplatform.erasing', true) = 'on' THEN
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
  END IF;
  RAISE EXCEPTION '% is append-only (% refused); withdrawal sets studyplatform.erasing', TG_TABLE_NAME, TG_OP;
END $$;
""" + "".join(f"CREATE TRIGGER {t}_guard BEFORE UPDATE OR DELETE ON {t} FOR EACH ROW EXECUTE FUNCTION deid_guard();\n" for t in TABLES)
UNGUARD = "".join(f"DROP TRIGGER {t}_guard ON {t};\n" for t in TABLES) + "DROP FUNCTION deid_guard();"


class Migration(migrations.Migration):
    dependencies = [("deid", "0001_initial")]
    operations = [migrations.RunSQL(GUARD, UNGUARD)]
