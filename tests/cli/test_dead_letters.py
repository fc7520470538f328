"""Dead letters from the first run until the last is cleared, as a user types it."""

import json
from pathlib import Path

import pytest

from layoutray.cli.dead_letters import show
from layoutray.cli.main import main
from layoutray.errors import DocumentError, InputError, Reason
from layoutray.prepare.output import Output
from layoutray.prepare.page_tasks import PageTask
from layoutray.readers import DocumentRef
from layoutray.store.dead_letter import DeadLetter
from tests.ocr.files import encoded, pdf, picture, typed

GOOD = encoded(picture("Plain", size=(400, 150), at=(20, 20)), "PNG")
INGEST = [
    "ingest",
    "ingest-folder",
    "in",
    "out",
    "--set",
    "recognition.max_pixels=1000000",
    "--set",
    "recognition.text_layer=never",
    "--set",
    "recognition.profile=fast",
]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder; its folder `in` has a good page, a truncated one, an empty file and a PDF of large pages."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    files = {
        "good.png": GOOD,
        "cut.png": GOOD[:300],
        "empty.png": b"",
        "large.pdf": pdf(*(typed(text, x=72, y=700) for text in "AB")),
    }
    for name, data in files.items():
        (tmp_path / "in" / name).write_bytes(data)
    return tmp_path


def letters() -> list[tuple[str, int | None, str]]:
    return sorted(
        (Path(letter.source).name, letter.page, letter.reason) for letter in Output("out").read_dead_letters()
    )


def counts() -> tuple[int, ...]:
    """Documents out and dead, pages out and dead, of a manifest that adds up."""
    manifest = json.loads(Path("out/manifest.json").read_text())
    assert manifest["documents_in"] == manifest["documents_out"] + manifest["documents_dead"] + len(
        manifest["duplicates"]
    )
    assert manifest["pages_in"] == manifest["pages_out"] + manifest["pages_dead"]
    assert len(Output("out").done().pages) == manifest["pages_out"]
    return tuple(manifest[name] for name in ("documents_out", "documents_dead", "pages_out", "pages_dead"))


LARGE = [("large.pdf", 1, "too_large"), ("large.pdf", 2, "too_large")]
EMPTY = ("empty.png", None, "empty_file")


@pytest.mark.ray
@pytest.mark.ocr
@pytest.mark.usefixtures("cluster")
def test_what_has_died_is_replayed_after_each_fix_until_nothing_is_dead(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*INGEST, "--max-dead-rate", "0.79"]) == 1
    said = capsys.readouterr().err
    assert (
        "error: 80.00% of pages are dead letters (2 too_large, 1 unreadable, 1 empty_file), "
        "more than --max-dead-rate 79.00%" in said
    )
    assert (letters(), counts()) == ([("cut.png", 1, "unreadable"), EMPTY, *LARGE], (3, 1, 1, 3))
    assert main([*INGEST, "--max-dead-rate", "0.8"]) == 0

    # A file is repaired: only what was asked for is tried, though the other file has been repaired as well.
    (here / "in/cut.png").write_bytes(encoded(picture("Whole", size=(400, 150), at=(20, 20)), "PNG"))
    (here / "in/empty.png").write_bytes(GOOD)
    assert main(["dead-letters", "replay", "out", "--reason", "unreadable"]) == 0
    assert "1 of 1 dead letters are cleared" in capsys.readouterr().err
    assert (letters(), counts()) == ([EMPTY, *LARGE], (3, 1, 2, 2))

    # A repaired file whose bytes are those of another is no page of its own.
    assert main(["dead-letters", "replay", "out", "--stage", "open"]) == 0
    assert (letters(), counts()) == (LARGE, (3, 0, 2, 2))

    # Nothing has changed for the rest, so it fails again, and is there once.
    assert main(["dead-letters", "replay", "out"]) == 0
    assert "0 of 2 dead letters are cleared" in capsys.readouterr().err
    assert (letters(), counts()) == (LARGE, (3, 0, 2, 2))

    # Another value of the recipe: the pages stand where the first run wanted them, so that its rerun has nothing to do.
    assert main(["dead-letters", "replay", "out", "--set", "recognition.max_pixels=9000000"]) == 0
    assert (letters(), counts()) == ([], (3, 0, 4, 0))
    pages = Output("out").done().pages
    assert main([*INGEST, "--max-dead-rate", "0"]) == 0
    assert "nothing left to do" in capsys.readouterr().err
    assert (Output("out").done().pages, counts()) == (pages, (3, 0, 4, 0))


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A folder with a dead page of a.pdf and one of b.pdf, each page for another reason."""
    reasons = {"a.pdf": Reason.TIMEOUT, "b.pdf": Reason.BAD_BOX}
    units = [
        PageTask(
            page_id=f"id-{name}",
            doc_id=f"doc-{name}",
            page=3,
            reference=DocumentRef(key=name, source=f"/in/{name}", image=f"/in/{name}", annotation="", split="train"),
        )
        for name in reasons
    ]
    errors = [DocumentError(reason, f"{reason} happened", stage="ocr") for reason in reasons.values()]
    output = Output(str(tmp_path / "out"))
    output.commit(
        units,
        [
            DeadLetter.of(error, unit.reference.source, doc_id=unit.doc_id, page_id=unit.page_id, page=unit.page)
            for unit, error in zip(units, errors, strict=True)
        ],
    )
    return output.folder


@pytest.mark.parametrize(
    ("options", "listed"),
    [
        ([], ["a.pdf", "b.pdf"]),
        (["--reason", "timeout"], ["a.pdf"]),
        (["--stage", "open"], []),
        (["--stage", "ocr"], ["a.pdf", "b.pdf"]),
    ],
)
def test_dead_letters_are_listed_and_counted(
    folder: str, options: list[str], listed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["dead-letters", "list", folder, *options]) == 0
    shown = capsys.readouterr()
    rows = [json.loads(line) for line in shown.out.splitlines()]
    assert [Path(row["source"]).name for row in rows] == listed
    assert all((row["page"], row["attempts"], row["retryable"]) == (3, 1, row["reason"] == "timeout") for row in rows)
    assert ("timeout" in shown.err) == ("a.pdf" in listed)


@pytest.mark.parametrize("which", ["id-a", "a.pdf", "doc-a.pdf", "/in/a.pdf"])
def test_a_dead_letter_is_shown_with_its_trace(folder: str, which: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dead-letters", "show", folder, which]) == 0
    shown = capsys.readouterr().out
    assert "reason: timeout\n" in shown
    assert "layoutray.errors.DocumentError: timeout happened" in shown
    assert "bad_box" not in shown


def test_what_is_not_there_is_said(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match=r"has no dead letter of 'c\.pdf'; see `layoutray dead-letters list"):
        show([folder, "c.pdf"])
    assert main(["dead-letters", "list", f"{folder}/nowhere"]) == 1
    assert "nowhere has no dead letters: it does not exist" in capsys.readouterr().err
    assert main(["dead-letters", "replay", folder, "--reason", "encrypted"]) == 0
    assert "has no such dead letters" in capsys.readouterr().err
