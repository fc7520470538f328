from pathlib import Path

import pytest

from layoutray.errors import InputError
from layoutray.store import job

JOB = {"model": "small", "options": {"beams": 1, "sizes": (1, 2)}}


def test_the_same_job_continues(tmp_path: Path) -> None:
    for _ in range(2):
        job.claim(str(tmp_path / "out"), JOB)
    (tmp_path / "out" / "content").touch()
    job.claim(str(tmp_path / "out"), JOB)


def test_another_job_is_refused_and_every_difference_named(tmp_path: Path) -> None:
    job.claim(str(tmp_path), JOB)
    other = {"model": "large", "options": {"beams": 2, "sizes": (1, 2), "seed": 0}}
    with pytest.raises(InputError) as refused:
        job.claim(str(tmp_path), other)
    assert (
        f'{tmp_path} belongs to another job: model is "small" there and "large" here; '
        "options.beams is 1 there and 2 here; options.seed is absent there and 0 here; give another --out"
        in str(refused.value)
    )


def test_content_of_no_job_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    job.claim(str(tmp_path), JOB, ("parquet",))
    (tmp_path / "job.json").unlink()
    with pytest.raises(InputError, match=r"has content but no job\.json"):
        job.claim(str(tmp_path), JOB)
    assert not (tmp_path / "job.json").exists()


def test_asking_who_owns_a_folder_does_not_claim_it(tmp_path: Path) -> None:
    assert not job.owns(str(tmp_path), JOB)
    assert list(tmp_path.iterdir()) == []
    job.claim(str(tmp_path), JOB)
    assert job.owns(str(tmp_path), JOB)
