"""An encoder that nobody has calibrated: refused, calibrated on recordings, then usable, and unchangeable once people agreed."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from memory import encoders, registry
from memory.models import EncoderCalibration
from studyplatform.analysis.tables import threshold
from studyplatform.env import Provider
from studyplatform.study import loading
from studyplatform.study.models import Study
from tests import cast as people

SAMPLE = Path(settings.BASE_DIR).parent / "shared" / "data" / "lufy-sample"
NAME = "lab/hash"


@pytest.fixture
def lab(script, monkeypatch) -> None:
    """A provider of the deployment's own, at the scripted server."""
    monkeypatch.setitem(settings.ENV.LLM_PROVIDERS, "lab", Provider(url=script.url))


def toml() -> str:
    return people.study_toml("four").replace('encoder = "scripted/hash"', f'encoder = "{NAME}"')


def calibrate(*options: str) -> str:
    out = StringIO()
    call_command("calibrate_encoder", "--replay", f"lufy:{SAMPLE}", "--system", "LUFY", "--encoder", NAME, *options, stdout=out)
    return out.getvalue()


@pytest.mark.skipif(not SAMPLE.exists(), reason="no recorded conversations here")
def test_a_study_can_use_an_encoder_once_it_is_calibrated_and_then_it_stays_so(db, lab):
    with pytest.raises(loading.BadStudyFile, match="lab/hash is not calibrated"):
        loading.parse(toml(), [registry.faults])
    found = json.loads(calibrate("--store", "--json"))
    row = EncoderCalibration.objects.get(encoder=NAME)
    assert row.thresholds == found["thresholds"]
    assert set(row.thresholds) == set(encoders.THRESHOLDS)
    assert row.dimension == 384
    study = loading.store(loading.parse(toml(), [registry.faults]))
    Study.objects.filter(pk=study.pk).update(state="running")
    study.refresh_from_db()
    people.person(study)
    with pytest.raises(CommandError, match=f"in use by {study.slug}"):
        calibrate("--store")


def test_an_encoder_that_comes_calibrated_is_not_overwritten(db):
    with pytest.raises(CommandError, match="comes calibrated"):
        call_command("calibrate_encoder", "--replay", "lufy:nowhere", "--encoder", "scripted/hash", "--store")


def test_an_encoder_of_no_provider_is_refused_with_what_to_do(db):
    with pytest.raises(CommandError, match="LLM_PROVIDERS"):
        call_command("calibrate_encoder", "--replay", f"lufy:{SAMPLE}", "--encoder", "nobody/hash")


def test_bands_hold_every_pair_once_and_empty_ones_show_no_share():
    found = threshold.bands([(0.50, True), (0.549, False), (0.62, True), (-0.01, False)])
    assert sum(band.pairs for band in found) == 4
    assert [(band.low, band.pairs, band.right) for band in found if band.low >= 0.5] == [(0.5, 2, 0.5), (0.55, 0, None), (0.6, 1, 1.0)]
    assert found[0].low == -0.05


def test_the_best_threshold_is_the_highest_of_equal_f1():
    curve = threshold.curve([(0.9, True), (0.7, False)], [0.6, 0.75, 0.8, 0.95])
    assert [point.f1 for point in curve] == pytest.approx([2 / 3, 1, 1, 0])
    assert threshold.best(curve).threshold == 0.8
    assert curve[-1].precision is None
