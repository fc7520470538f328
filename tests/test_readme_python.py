"""The README's Python block runs as it is, with files of the names that it uses."""

import re
from pathlib import Path

import pytest
from PIL import Image

from tests.jobs import NO_DROPOUT, job, pages, recipe, write_pages
from tests.training.runs import alone

REPOSITORY = Path(__file__).resolve().parents[1]
REGISTERED = "models:/layoutray-demo@champion"


@pytest.mark.ocr
def test_the_python_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (program,) = re.findall(
        r"^<!-- run by tests/test_readme_python.py -->\n```python\n(.*?)^```",
        (REPOSITORY / "README.md").read_text(encoding="utf-8"),
        re.M | re.S,
    )
    assert REGISTERED in program
    trained = job(tmp_path, recipe("entities", model=NO_DROPOUT, steps=1, max_length=24), pages(2))
    alone(trained)
    monkeypatch.chdir(tmp_path)
    Image.new("RGB", (800, 1100), "white").save("scan.pdf")
    write_pages(tmp_path / "runs/demo/pages", pages(2))
    exec(program.replace(REGISTERED, str(trained.out)), {})
