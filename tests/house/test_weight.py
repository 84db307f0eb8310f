"""What a web process carries before it has done anything: libraries of tens of megabytes are loaded where they are used."""

import subprocess
import sys

HEAVY = (
    "openai",
    "scipy",
    "torch",
    "transformers",
    "matplotlib",
    "pandas",
    "statsmodels",
    "pyarrow",
    "openpyxl",
    "spacy",
    "presidio_analyzer",
    "onnxruntime",
)
LOADED = """
import sys
import studyplatform.asgi
from django.urls import get_resolver
get_resolver().url_patterns
print(*{name.split(".")[0] for name in sys.modules})
"""


def test_the_web_process_starts_without_the_libraries_of_the_workers_and_the_report():
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", LOADED], capture_output=True, text=True, check=True)
    assert not set(HEAVY) & set(done.stdout.split())
