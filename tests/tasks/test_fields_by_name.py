"""Fields by their names: what a window is asked for, what it learns, and the output layer that names give."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from layoutray import checkpoint, config
from layoutray.batching.collate import collate
from layoutray.batching.examples import unlabelled
from layoutray.checkpoint import Checkpoint
from layoutray.devices import CPU
from layoutray.document.field_type import FieldType
from layoutray.errors import CheckpointError, InputError, RecipeError
from layoutray.inference.by_name import NamedExtractor, named
from layoutray.inference.extractor import Extractor
from layoutray.recipe import recipes
from layoutray.releases.huggingface import library_model
from layoutray.tasks import fields_by_name, ruled_out
from layoutray.tasks.field_names import name_words
from layoutray.tasks.fields_by_name import PARTS, FieldsByName, name_examples
from layoutray.tensors import Batch, Names
from tests.jobs import NO_DROPOUT, job, page, pages, recipe, vocabulary
from tests.training.runs import alone

SETS = {"tills": {"sum": ["sum of all", "total"]}, "menus": {"dish": ["dish"], "wine": ["wine"]}}
TASK = FieldsByName(kinds=SETS)
LABELS = TASK.label_names([["B-sum"]])
VOCABULARY = vocabulary()
KINDS = [label[2:] for label in LABELS[1 :: len(PARTS)]]


def batch(*rows: list[str]) -> Batch:
    """Windows with these labels, and a special token on each side."""
    length = max(map(len, rows)) + 2
    labels = torch.full((len(rows), length), -100)
    for row, names in enumerate(rows):
        labels[row, 1 : len(names) + 1] = torch.tensor([LABELS.index(name) for name in names])
    ids = torch.zeros_like(labels)
    return Batch(input_ids=ids, boxes=ids[..., None].expand(-1, -1, 4), mask=ids == 0, labels=labels)


def asked(given: Batch, seed: int) -> tuple[Batch, Names]:
    made = TASK.corruption(VOCABULARY)(given, torch.Generator().manual_seed(seed))
    assert made.names is not None
    return made, made.names


def test_a_window_is_asked_for_some_kinds_that_its_documents_annotate_and_others_are_outside() -> None:
    given = batch(["S-sum", "O"], ["B-wine", "E-wine"], ["O", "O"], ["S-sum", "S-dish"])
    seen: list[set[str]] = [set() for _ in range(4)]
    for seed in range(60):
        made, names = asked(given, seed)
        assert made.labels is not None
        assert given.labels is not None
        of_names = [KINDS[kind] for kind in names.kinds.tolist()]
        for row, of_window in enumerate(names.asked.tolist()):
            wanted = {kind for kind, is_asked in zip(of_names, of_window, strict=True) if is_asked}
            seen[row] |= wanted
            kept = {LABELS[label][2:] for label in made.labels[row].tolist() if label > 0}
            present = {LABELS[label][2:] for label in given.labels[row].tolist() if label > 0}
            assert kept == present & wanted
        assert torch.equal(made.labels == -100, given.labels == -100)
    assert seen == [{"sum"}, {"dish", "wine"}, set(), {"sum", "dish", "wine"}]


def test_the_same_random_numbers_ask_the_same() -> None:
    (_, names), (_, same), (_, other) = (asked(batch(["S-sum"], ["S-total"], ["S-dish"]), seed) for seed in (5, 5, 6))
    assert torch.equal(names.asked, same.asked)
    assert torch.equal(names.windows.input_ids, same.windows.input_ids)
    assert not torch.equal(names.windows.input_ids, other.windows.input_ids)


def test_tags_of_other_kinds_are_outside_and_some_tag_has_to_be_known() -> None:
    words = [replace(word, tag=str(word.tag).replace("date", "signature")) for word in page(0).words]
    of_task = TASK.true_labels(replace(page(0), words=tuple(words)))
    assert {tag[2:] for tag in of_task if tag and tag != "O"} == {"total"}
    assert any(str(tag).endswith("date") for tag in TASK.true_labels(page(0)))
    with pytest.raises(InputError, match=r"no page has tags of the kinds in \[task.kinds\]: .*dish"):
        TASK.label_names([["B-signature"]])


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ({"fields": {"total": {}}}, r"\[task.fields\] and \[task.records\] must be empty"),
        ({"kinds": {"menus": {"total": ["sum"]}}}, "total is a kind of task.kinds.menus and of generated"),
        ({"kinds": {"menus": {"dish": []}}}, r"task.kinds.menus.dish is \[\]; give at least one wording"),
        ({"kinds": {"menus": {"dish": ["#"]}}}, "give at least one wording, with a letter"),
    ],
)
def test_kinds_that_cannot_be_learned_are_refused(task: dict[str, object], message: str) -> None:
    values = recipe("fields_by_name").to_dict()
    with pytest.raises(RecipeError, match=message):
        recipes.from_dict(values | {"task": {"name": "fields_by_name", **task}})


def test_names_are_read_as_words_without_places() -> None:
    for text in ("due_date", "dueDate", "Due date:", "due-date"):
        assert name_words(text) == ["due", "date"]
    assert name_words("KvK-nummer") == ["kvk", "nummer"]
    (example,) = name_examples(["due_date"], VOCABULARY)
    assert not example.boxes.any()
    assert example.word_index.max() == 1


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    """A model that has learned totals and dates of few receipts, under English and German names."""
    few = {
        "total": {"en": ["total", "grand total"], "de": ["Gesamtbetrag"]},
        "date": {"en": ["date", "day"], "de": ["Datum"]},
        "tip": {"en": ["tip"]},
    }
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(fields_by_name, "wordings", lambda: few)
        chosen = recipe(
            "fields_by_name", model=NO_DROPOUT, steps=200, learning_rate=5e-3, micro_batch_size=8, max_length=64
        )
        one = job(tmp_path_factory.mktemp("start"), chosen, pages(6, 4))
        alone(one)
        return checkpoint.load(one.out)


TOTAL, DATE = FieldType(), FieldType()
GRAND_TOTAL = FieldType(description="grand total")


def values_of(kind: str, number: int) -> list[str]:
    """The tagged values of a kind on a receipt, as text."""
    found: list[list[str]] = []
    for word in page(number).words:
        if word.tag == f"B-{kind}":
            found.append([])
        if word.tag != "O" and str(word.tag)[2:] == kind:
            found[-1].append(word.text)
    return [" ".join(words) for words in found]


def test_it_answers_what_it_is_asked_for_in_any_wording(start: Checkpoint) -> None:
    right = asked_for = 0
    for names in ({"total": TOTAL, "date": DATE}, {"date": DATE}, {"Gesamtbetrag": TOTAL}, {"x": GRAND_TOTAL}):
        extractor = Extractor(named(start, names), "m", CPU)
        for number, entities in enumerate(extractor.extract(pages(6))):
            for name in names:
                kind = "date" if name == "date" else "total"
                found = [one.content for one in entities if one.type == name]
                right += found == values_of(kind, number)
                asked_for += 1
    assert right >= 0.8 * asked_for


def test_the_output_layer_of_names_scores_as_the_model_that_reads_them(start: Checkpoint) -> None:
    made = named(start, {"total": TOTAL, "date": DATE})
    assert made.labels == ("O", *(f"{part}-{kind}" for kind in ("date", "total") for part in "BIES"))
    task = start.recipe.task
    assert isinstance(task, FieldsByName)
    kinds = [label[2:] for label in start.labels[1 :: len(PARTS)]]
    examples = [unlabelled(page(number), start.tokenizer, 64)[0] for number in range(3)]
    given = collate(examples, start.tokenizer.pad_id)
    names = Names(
        windows=collate(name_examples(["total", "date"], start.tokenizer), start.tokenizer.pad_id),
        kinds=torch.tensor([kinds.index("total"), kinds.index("date")]),
        asked=torch.ones(3, 2, dtype=torch.bool),
    )
    with torch.inference_mode():
        _, direct = made.model.scores(given)
        _, read = start.model.scores(replace(given, names=names))
    columns = [start.labels.index(label) for label in made.labels]
    torch.testing.assert_close(read[..., columns], direct)
    others = [number for number in range(len(start.labels)) if number not in columns]
    assert float(read[..., others].max()) < -1000


def test_a_named_model_is_a_checkpoint_like_any_other(start: Checkpoint, tmp_path: Path) -> None:
    made = named(start, {"total": FieldType(type="amount", is_sum=True)})
    checkpoint.save(tmp_path, made)
    loaded = checkpoint.load(tmp_path)
    assert loaded.recipe.task == made.recipe.task
    assert loaded.temperature == start.temperature
    assert loaded.provenance["named_from"] == start.version
    other = Extractor(made, "m", CPU).extract(pages(3))
    assert Extractor.load(tmp_path, CPU).extract(pages(3)) == other


def test_a_model_without_names_says_what_to_do(start: Checkpoint, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="answers the fields that you name; use `layoutray answer`"):
        Extractor(start, "m", CPU)
    with pytest.raises(CheckpointError, match="of task entities_bioes, which answers the fields that it was trained"):
        named(named(start, {"total": TOTAL}), {"date": DATE})
    with pytest.raises(InputError, match="0 fields are named"):
        named(start, {})
    with pytest.raises(CheckpointError, match="task fields_by_name, which cannot be exported"):
        library_model(start)


def test_an_extractor_by_name_keeps_the_layers_of_few_questions(
    start: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("layoutray.inference.by_name._QUESTIONS", 2)
    extractor = NamedExtractor(start, "m", CPU)
    total, date = extractor.asking({"total": TOTAL}), extractor.asking({"date": DATE})
    assert extractor.asking({"total": TOTAL}) is total
    extractor.asking({"sum": TOTAL})
    assert extractor.asking({"total": TOTAL}) is total
    assert extractor.asking({"date": DATE}) is not date
    assert (extractor.entity_types, extractor.fields) == ((), {})
    assert total.entity_types == ("total",)


def test_an_assignment_can_add_a_wording() -> None:
    values = config.override(recipe("fields_by_name").to_dict(), ['task.kinds.menus={dish = ["dish"]}'])
    assert "B-dish" in recipes.from_dict(values).task.label_names([["B-dish"]])  # pyright: ignore[reportAttributeAccessIssue]


def test_a_model_of_other_kinds_is_not_measured(start: Checkpoint) -> None:
    with pytest.raises(InputError, match=r"was trained for other kinds than \[task\.kinds\]"):
        start.recipe.task.summarise([], start.labels)


def test_a_window_that_is_known_in_part_is_asked_for_known_kinds_only() -> None:
    given = batch([f"S-{KINDS[0]}", "O", "O"], ["S-dish", "O", "O"])
    assert given.labels is not None
    not_first, not_dish = (ruled_out.target([kind], LABELS) for kind in (KINDS[0], "dish"))
    given.labels[0, 2:4] = torch.tensor([not_first, -100])
    given.labels[1, 2:4] = torch.tensor([not_dish, not_dish])
    learnt: set[tuple[int, int]] = set()
    for seed in range(60):
        made, names = asked(given, seed)
        assert made.labels is not None
        of_names = [KINDS[kind] for kind in names.kinds.tolist()]
        for row, known in enumerate((KINDS[0], "dish")):
            wanted = {kind for kind, is_asked in zip(of_names, names.asked[row].tolist(), strict=True) if is_asked}
            assert wanted <= {known}
            targets = made.labels[row, 1:4].tolist()
            assert targets == [LABELS.index(f"S-{known}") if wanted else 0, 0, -100 if row == 0 else 0]
            learnt.add((row, len(wanted)))
    assert learnt == {(0, 0), (0, 1), (1, 0), (1, 1)}
