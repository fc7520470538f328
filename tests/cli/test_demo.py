"""The parts of the demo that train nothing: its folder, the comparison with the truth, the commands it names."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from layoutray.cli import demo
from layoutray.cli.main import main
from layoutray.cli.work import demo as demonstration
from layoutray.errors import InputError
from layoutray.tasks.field_names import asked_fields


def made(**given: Any) -> demonstration.Demo:
    return demonstration.Demo(**{"documents": None, "count": 10, "unseen": 8, "seed": 7, **given})


def test_a_folder_with_other_files_is_refused_and_kept(tmp_path: Path) -> None:
    kept = tmp_path / "runs" / "model" / "weights"
    kept.parent.mkdir(parents=True)
    kept.write_text("trained for days")
    # Too few documents: a demo that accepts the folder fails before it trains anything.
    with pytest.raises(InputError, match="runs is not empty and was not made by the demo"):
        demo.main(["--out", str(tmp_path / "runs"), "--count", "1", "--unseen", "1"])
    assert kept.read_text() == "trained for days"
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["model"]


def test_a_file_is_refused_and_kept(tmp_path: Path) -> None:
    file = tmp_path / "notes"
    file.write_text("mine")
    with pytest.raises(InputError, match="notes is a file"):
        demonstration.start_folder(file)
    assert file.read_text() == "mine"


@pytest.mark.parametrize("exists", [False, True])
def test_a_new_or_empty_folder_gets_the_marker(tmp_path: Path, exists: bool) -> None:
    out = tmp_path / "runs" / "demo"
    if exists:
        out.mkdir(parents=True)
    demonstration.start_folder(out)
    assert [path.name for path in out.iterdir()] == [demonstration.MARKER]


def test_the_folder_of_a_former_demo_is_emptied_and_links_are_not_followed(tmp_path: Path) -> None:
    out, elsewhere = tmp_path / "demo", tmp_path / "elsewhere"
    demonstration.start_folder(out)
    (out / "pages").mkdir()
    (out / "pages" / "shard").write_text("old")
    (out / "page.png").write_text("old")
    elsewhere.mkdir()
    (elsewhere / "mine").write_text("mine")
    (out / "link").symlink_to(elsewhere)
    demonstration.start_folder(out)
    assert [path.name for path in out.iterdir()] == [demonstration.MARKER]
    assert (elsewhere / "mine").read_text() == "mine"


def test_answers_are_compared_with_the_truth_by_their_normal_forms() -> None:
    schema = asked_fields("date, total:amount, company:name")
    truth = {"1.png": {"date": "3 Feb 2021", "total": "$16.75"}, "2.png": {"date": "4 May 2022", "company": "?"}}
    before = {"1.png": {"total": ["1.00"]}, "3.png": {"date": ["2021-02-03"]}}
    after = {"1.png": {"total": ["1.00", "16.75"], "date": ["2021-02-03"]}, "2.png": {"company": [""]}}
    rows = demonstration.comparison(truth, before, after, schema)
    assert rows == [("date", 2, 0, 1), ("total", 1, 0, 1), ("company", 1, 0, 0)]


def test_drawn_documents_have_their_values_in_a_table_and_the_others_have_them_elsewhere(tmp_path: Path) -> None:
    one = made(out=tmp_path, count=4, unseen=2)
    one.draw()
    labelled, unseen = ({file.name for file in (tmp_path / name).iterdir()} for name in ("labelled", "unseen"))
    assert (len(labelled), len(unseen)) == (5, 2)
    assert set(demonstration.values(one.labelled)) <= labelled
    assert set(one.truth) <= unseen
    assert demonstration.values(one.labelled)


def test_of_own_documents_those_without_values_are_answered(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    for name in ("a.pdf", "b.PNG", "notes.txt"):
        (own / name).write_text(name)
    (own / "values.csv").write_text("file,field,value\na.pdf,total,1.00\n")
    for table, unseen in (("a.pdf", ["b.PNG"]), ("a.pdf,total,1.00\nb.PNG", ["a.pdf", "b.PNG"])):
        (own / "values.csv").write_text(f"file,field,value\n{table},total,1.00\n")
        one = made(out=tmp_path / str(len(unseen)), documents=own)
        one.out.mkdir()
        one.choose()
        assert sorted(file.name for file in (one.out / "unseen").iterdir()) == unseen
    (own / "values.csv").write_text("name,value\na.pdf,1\n")
    with pytest.raises(InputError, match="the heading is 'name,value'; it must be"):
        one.choose()


def test_the_named_commands_exist_with_their_options(capsys: pytest.CaptureFixture[str]) -> None:
    lines = re.findall(r"layoutray .*", demonstration.next_steps(Path("runs/demo")))
    named = [shlex.split(line)[1:] for line in lines]
    assert {words[0] for words in named} == {"answer", "train", "serve"}
    for verb, *arguments in named:
        with pytest.raises(SystemExit, match=r"^0$"):
            main([verb, "--help"])
        known = set(re.findall(r"--[a-z][a-z-]*", capsys.readouterr().out))
        assert {word for word in arguments if word.startswith("--")} <= known
