"""A job: from examples and a recipe to a complete checkpoint, or a refusal that says what does not fit."""

import dataclasses
import json
import math
from pathlib import Path

import pyarrow as pa
import pyarrow.fs as pafs
import pytest
import torch

from layoutray import checkpoint
from layoutray.errors import CheckpointError, DocumentError, InputError, Reason, TrainingError
from layoutray.store import codec, example_files, shards, sources
from layoutray.store.dead_letter import DeadLetter
from layoutray.training import job as jobs
from layoutray.training import world as worlds
from layoutray.training.inputs import fold, open_split, prepare, training_documents
from layoutray.training.reporter import HISTORY, JsonLines
from layoutray.training.train import train_in_place
from tests.jobs import elsewhere, job, pages, recipe
from tests.recipe.test_recipes import OF_EVERY_TASK
from tests.store.test_sources import server  # noqa: F401  (a fixture)
from tests.training.runs import History, StopAfter, Stopped, alone, read_history


def test_the_checkpoint_is_complete_and_says_where_it_came_from(tmp_path: Path) -> None:
    one = job(tmp_path, recipe("entities", steps=3))
    assert not jobs.finished(one)
    alone(one)
    assert jobs.finished(one)
    loaded = checkpoint.load(one.out)
    assert loaded.recipe == one.recipe
    assert loaded.labels == ("O", "B-date", "I-date", "B-total", "I-total")
    assert loaded.provenance["examples_digest"] == "digest"
    assert loaded.provenance["pages_from"] == [str(tmp_path / "ingested")]
    assert [one.words for one in loaded.learnt] == ["annotation"]
    assert {"step", "dev.f1", "dev.precision", "dev.recall"} <= loaded.metrics.keys()


def test_without_dev_pages_the_last_weights_are_kept(tmp_path: Path) -> None:
    one = job(tmp_path, recipe("masked_lm", steps=3), pages(8))
    series = alone(one)
    assert set(series) == {"loss", "grad_norm", "learning_rate", "tokens_per_second", "mfu"}
    assert checkpoint.load(one.out).metrics == {"step": 3.0}


def test_a_finished_job_is_not_taken_for_another(tmp_path: Path) -> None:
    one = job(tmp_path, recipe("masked_lm", steps=2))
    alone(one)
    with pytest.raises(CheckpointError, match="another recipe, other examples or another start"):
        jobs.finished(dataclasses.replace(one, recipe=recipe("masked_lm", steps=3)))
    card = json.loads((Path(one.examples) / "dataset.json").read_text())
    (Path(one.examples) / "dataset.json").write_text(json.dumps(card | {"digest": "changed"}))
    with pytest.raises(CheckpointError, match="another recipe, other examples or another start"):
        jobs.finished(one)


def test_an_unfinished_job_is_not_taken_for_another(tmp_path: Path) -> None:
    one = job(tmp_path, recipe("masked_lm", steps=2))
    alone(one)
    (one.out / jobs.FINISHED).unlink()
    assert not jobs.finished(one)
    with pytest.raises(CheckpointError, match="another start"):
        jobs.finished(dataclasses.replace(one, init=("elsewhere",)))


def test_a_recipe_may_have_got_keys_since_a_job_was_finished(tmp_path: Path) -> None:
    one = job(tmp_path, recipe("masked_lm", steps=2))
    alone(one)
    noted = json.loads((one.out / jobs.JOB).read_text())
    del noted["recipe"]["train"]["patience"], noted["recipe"]["task"]["mask_share"]
    (one.out / jobs.JOB).write_text(json.dumps(noted))
    assert jobs.finished(one)
    with pytest.raises(CheckpointError, match="another recipe"):
        jobs.finished(
            dataclasses.replace(one, recipe=recipe("masked_lm", steps=2, patience=one.recipe.train.patience + 1))
        )
    for other in ({**noted, "recipe": noted["recipe"] | {"no_such_key": 1}}, {}):
        (one.out / jobs.JOB).write_text(json.dumps(other))
        with pytest.raises(CheckpointError, match="another recipe"):
            jobs.finished(one)


def test_a_job_of_an_earlier_version_has_the_keys_of_every_task(tmp_path: Path) -> None:
    one = job(tmp_path, recipe("entities", steps=2))
    alone(one)
    noted = json.loads((one.out / jobs.JOB).read_text())
    noted["recipe"]["task"] = {"name": "entities", **OF_EVERY_TASK}
    (one.out / jobs.JOB).write_text(json.dumps(noted))
    assert jobs.finished(one)
    noted["recipe"]["task"] |= {"fields": {"total": {}}}
    (one.out / jobs.JOB).write_text(json.dumps(noted))
    with pytest.raises(CheckpointError, match="another recipe"):
        jobs.finished(one)


def test_a_job_whose_perplexity_is_infinite_keeps_no_checkpoint_and_is_standard_json(tmp_path: Path) -> None:
    one = job(tmp_path, recipe("masked_lm", steps=2, learning_rate=100.0, evaluate_every=1))
    with pytest.raises(TrainingError, match=r"dev\.perplexity was not finite in any evaluation"):
        train_in_place(prepare(one, 1), worlds.single_process(), JsonLines(one.out / HISTORY))
    assert not (one.out / "model.safetensors").exists()
    assert not jobs.finished(one)
    assert read_history(one.out / HISTORY)["dev.perplexity"][0] == (1, math.inf)
    for file in (*one.out.glob("*.json"), one.out / HISTORY):
        for line in file.read_text().splitlines() if file.suffix == ".jsonl" else [file.read_text()]:
            json.loads(line, parse_constant=pytest.fail)


def test_what_was_interrupted_is_gone_on_with_in_place(tmp_path: Path) -> None:
    one = job(tmp_path, recipe("masked_lm", steps=6, checkpoint_every=2))
    with pytest.raises(Stopped):
        train_in_place(prepare(one, 1), worlds.single_process(), StopAfter(5))
    assert not jobs.finished(one)
    history = History()
    train_in_place(prepare(one, 1), worlds.single_process(), history)
    assert [step for step, _ in history.series["loss"]] == [5, 6], "the state of step 4 was kept"
    assert jobs.best_objective(one) == history.series["dev.perplexity"][-1][1]
    assert sorted(file.name for file in one.out.iterdir()) == sorted([*checkpoint.FILES, jobs.FINISHED, jobs.JOB])


@pytest.mark.usefixtures("server")
def test_a_bucket_is_trained_from_and_into_like_a_folder(tmp_path: Path) -> None:
    here = job(tmp_path, recipe("masked_lm", steps=6, checkpoint_every=2))
    pafs.copy_files(here.examples, "s3://scans/windows")
    there = dataclasses.replace(here, examples="s3://scans/windows", out="s3://scans/trained=1")
    with pytest.raises(Stopped):
        train_in_place(prepare(there, 1), worlds.single_process(), StopAfter(5))
    assert not jobs.finished(there)
    with pytest.raises(CheckpointError, match="s3://scans/trained=1 holds a training of another recipe"):
        jobs.finished(dataclasses.replace(there, init=("elsewhere",)))
    history = History()
    train_in_place(prepare(there, 1), worlds.single_process(), history)
    train_in_place(prepare(here, 1), worlds.single_process(), History())
    assert [step for step, _ in history.series["loss"]] == [5, 6], "the state of step 4 was kept"
    assert jobs.finished(there)
    assert jobs.best_objective(there) == jobs.best_objective(here)
    assert checkpoint.load(there.out).version == checkpoint.load(here.out).version
    names = {uri.rpartition("/")[2] for uri in sources.list_files(str(there.out))}
    assert names == {*checkpoint.FILES, jobs.FINISHED, jobs.JOB}


def test_what_came_before_a_state_was_reported_before_it_is_kept(tmp_path: Path) -> None:
    one = job(tmp_path, recipe("masked_lm", steps=6, checkpoint_every=2))
    with pytest.raises(Stopped):
        train_in_place(prepare(one, 1), worlds.single_process(), StopWhenSaved(4))
    history = History()
    train_in_place(prepare(one, 1), worlds.single_process(), history)
    assert [step for step, _ in history.series["loss"]] == [3, 4, 5, 6]


class StopWhenSaved(History):
    """Interrupts training when the state of `step` is saved, before other reporters hear of it."""

    def __init__(self, step: int) -> None:
        super().__init__()
        self._step = step

    def saved(self, step: int, folder: Path | None) -> None:
        if step == self._step:
            raise Stopped


def test_fine_tuning_starts_from_the_pretrained_encoder(tmp_path: Path) -> None:
    pretrained = job(tmp_path / "first", recipe("masked_lm", steps=2))
    alone(pretrained)
    settings = recipe("entities", steps=1, learning_rate=0.0, vocabulary=str(pretrained.out))
    tuned = job(tmp_path / "second", settings, init=(str(pretrained.out),))
    alone(tuned)
    source, target = (checkpoint.load(folder).model.encoder.state_dict() for folder in (pretrained.out, tuned.out))
    assert all(torch.equal(tensor, target[name]) for name, tensor in source.items())
    scratch = dataclasses.replace(elsewhere(tuned, tmp_path / "scratch"), init=())
    alone(scratch)
    fresh = checkpoint.load(scratch.out).model.encoder.state_dict()
    assert not torch.equal(fresh["word_embedding.weight"], source["word_embedding.weight"])


def test_examples_of_another_task_or_longer_windows_are_refused(tmp_path: Path) -> None:
    one = job(tmp_path, recipe("masked_lm"))
    with pytest.raises(InputError, match="was encoded for task masked_lm, the recipe trains entities"):
        alone(dataclasses.replace(one, recipe=recipe("entities")))
    with pytest.raises(InputError, match="windows of up to 48 tokens, the recipe allows 40"):
        alone(dataclasses.replace(one, recipe=recipe("masked_lm", max_length=40)))
    with pytest.raises(InputError, match="is not an EXAMPLES data set"):
        alone(dataclasses.replace(one, examples=str(tmp_path)))


def test_the_dead_letters_beside_the_examples_are_no_examples(tmp_path: Path) -> None:
    one = job(tmp_path, recipe("entities"))
    letter = DeadLetter.of(DocumentError(Reason.BAD_ANNOTATION, "no tag", stage="encode"), "receipt.png")
    shards.write(codec.dead_letters_table([letter]), f"{one.examples}/dead_letters", "part.parquet")
    train, dev, test = (len(open_split(one.examples, split)) for split in ("train", "dev", "test"))
    assert train > dev > test == 0


def test_a_smaller_number_of_documents_is_among_a_larger_one(tmp_path: Path) -> None:
    one = job(tmp_path, recipe("masked_lm", steps=1))
    everything = training_documents(one.examples)
    assert everything == sorted(made.doc_id for made in pages(24))

    def chosen(count: int, seed: int = 3) -> set[str]:
        some = dataclasses.replace(recipe("masked_lm", steps=1, documents=count), seed=seed)
        return {example.doc_id for example in prepare(dataclasses.replace(one, recipe=some), 1).train}

    assert chosen(4) < chosen(9) < chosen(24) == set(everything) == chosen(0)
    assert (len(chosen(4)), len(chosen(9))) == (4, 9)
    assert chosen(9) != chosen(9, seed=4)
    with pytest.raises(
        InputError, match=r"train\.documents is 25, and .* has 24 training documents; give a number up to 24"
    ):
        chosen(25)


def test_a_fold_is_left_out_and_every_document_is_in_one_fold(tmp_path: Path) -> None:
    one = job(tmp_path, recipe("masked_lm", steps=1))
    everything = training_documents(one.examples)

    def trained(number: int, documents: int = 0) -> set[str]:
        some = recipe("masked_lm", steps=1, folds=5, fold=number, documents=documents)
        return {example.doc_id for example in prepare(dataclasses.replace(one, recipe=some), 1).train}

    parts = [fold(everything, number, 5) for number in range(1, 6)]
    assert sorted(doc_id for part in parts for doc_id in part) == everything
    assert sorted(map(len, parts)) == [4, 5, 5, 5, 5]
    assert [trained(number) for number in range(1, 6)] == [set(everything) - part for part in parts]
    assert len(trained(2, documents=7)) == 7
    assert trained(2, documents=7) < trained(2)
    assert trained(0) == set(everything)


def test_all_windows_of_a_chosen_document_are_trained_on(tmp_path: Path) -> None:
    one = job(tmp_path, recipe("masked_lm", steps=1, max_length=12, documents=3))
    some = [(example.doc_id, example.window) for example in prepare(one, 1).train]
    every = [(example.doc_id, example.window) for example in open_split(one.examples, "train")]
    ids = {doc_id for doc_id, _ in some}
    assert some == [key for key in every if key[0] in ids]
    assert len(some) > len(ids) == 3


def test_sizes_of_files_and_blocks_do_not_matter(tmp_path: Path) -> None:
    one = job(tmp_path, recipe("masked_lm", steps=2))
    losses = alone(one)["loss"]
    for split in ("train", "dev"):
        folder = f"{one.examples}/{split}"
        table = example_files.read_table(folder)
        files = [example_files.write_shard(table.slice(at, 7), folder, f"{at}") for at in range(0, table.num_rows, 7)]
        assert len(files) > 1
        example_files.write_index(pa.concat_tables(files), folder)
    assert alone(elsewhere(one, tmp_path / "again"))["loss"] == losses
