"""The ledger can be added to, and erased by withdrawal (which names itself), and never changed."""

from django.db import migrations

GUARD = """
CREATE FUNCTION memory_ledger_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('studyplatform.erasing', true) = 'on' THEN
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
  END IF;
  RAISE EXCEPTION 'memory_memoryevent is append-only (% refused); withdrawal sets studyplatform.erasing', TG_OP;
END $$;
CREATE TRIGGER memory_ledger_guard BEFORE UPDATE OR DELETE ON memory_memoryevent
  FOR EACH ROW EXECUTE FUNCTION memory_ledger_guard();
"""
UNGUARD = "DROP TRIGGER memory_ledger_guard ON memory_memoryevent; DROP FUNCTION memory_ledger_guard();"


class Migration(migrations.Migration):
    dependencies = [("memory", "0001_initial")]
    operations = [migrations.RunSQL(GUARD, UNGUARD)]
