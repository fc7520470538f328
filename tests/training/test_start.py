"""Encoders that start from trained ones: of the same architecture, or of the others that it is joined from."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from layoutray import architectures, checkpoint, registry
from layoutray.checkpoint import Checkpoint
from layoutray.errors import CheckpointError
from layoutray.recipe import recipes
from layoutray.recipe.recipes import Recipe
from layoutray.tasks import TaskModel
from layoutray.tensors import Batch
from layoutray.tokenizer import Tokenizer
from layoutray.training.start import start_model
from tests import documents
from tests.architectures.contract import random_batch
from tests.jobs import MODEL, job, recipe, vocabulary
from tests.training.runs import alone

VOCABULARY = vocabulary()
LABELS = ("O", "B-date", "I-date")
TEXT = {"hidden": 32, "layers": 2, "heads": 2, "feed_forward": 64}
LAYOUT = {"layout_hidden": 48, "skim_head_size": 16, "contextualiser_layers": 1, "contextualiser_heads": 2}
SKIMFORMER = MODEL | {"layout_hidden": 48}
BERT = {"arch": "hf", **TEXT}
LAYOUTLM = BERT | {"model_type": "layoutlm"}
SKIM_EMBEDDINGS = {"arch": "skim_embeddings", "layout_hidden": 48, **TEXT}
SIDES = ("x", "y", "width", "height")
PROJECTIONS = {f"boxes.projections.{side}.{part}" for side in SIDES for part in ("weight", "bias")}
LAMBERT = {"arch": "lambert", **TEXT}
FORMNET = {"arch": "formnet", "graph_layers": 1, "radius": 64, "relative_positions": 2, **TEXT}
KINDS: dict[str, dict[str, Any]] = {
    "roberta": {"segments": 1, "norm_epsilon": 1e-5},
    "bert": {"segments": 2, "norm_epsilon": 1e-12},
}
SKIMMING_MASK = {"arch": "skimming_mask", "top_k": 4, **TEXT, **LAYOUT}


def of(model: dict[str, Any], task: str = "entities", vocabulary: str = "") -> Recipe:
    return recipes.from_dict(
        recipe(task, steps=1, learning_rate=0.0, vocabulary=vocabulary).to_dict() | {"model": model}
    )


def fresh(chosen: Recipe) -> TaskModel:
    return checkpoint.build_model(chosen, VOCABULARY, LABELS)


def trained(folder: Path, model: dict[str, Any], words: list[str] | None = None) -> str:
    """A checkpoint whose weights are unlike those that a seed draws."""
    return trained_as(of(model, "masked_lm"), folder, vocabulary(words) if words else VOCABULARY)


def trained_as(chosen: Recipe, folder: Path, known: Tokenizer = VOCABULARY) -> str:
    made = checkpoint.build_model(chosen, known, ())
    with torch.no_grad():
        generator = torch.Generator().manual_seed(8)
        for parameter in made.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator), alpha=0.1)
    checkpoint.save(
        folder, Checkpoint(recipe=chosen, labels=(), tokenizer=known, model=made, metrics={}, provenance={})
    )
    return str(folder)


def encoder_of(folder: str) -> dict[str, torch.Tensor]:
    return checkpoint.load(folder).model.encoder.state_dict()


def test_an_encoder_of_fewer_layers_gets_the_first_ones(tmp_path: Path) -> None:
    deep, shallow = trained(tmp_path / "deep", LAMBERT), of(LAMBERT | {"layers": 1})
    model = fresh(shallow)
    assert start_model(model, shallow, VOCABULARY, [deep]) == ()
    expected = encoder_of(deep)
    assert all(torch.equal(tensor, expected[name]) for name, tensor in model.encoder.state_dict().items())


def test_an_encoder_starts_from_another_tasks_checkpoint(tmp_path: Path) -> None:
    model, source = fresh(of(MODEL)), trained(tmp_path, MODEL)
    head = {name: tensor.clone() for name, tensor in model.head.state_dict().items()}
    assert start_model(model, of(MODEL), VOCABULARY, [source]) == ()
    assert all(torch.equal(tensor, model.encoder.state_dict()[name]) for name, tensor in encoder_of(source).items())
    assert all(torch.equal(tensor, model.head.state_dict()[name]) for name, tensor in head.items()), (
        "the head stays fresh"
    )


def writer_of(task: str, **decoder: Any) -> Recipe:
    values = documents.recipe(task).to_dict()
    values["task"]["writing"]["decoder"] |= decoder
    return recipes.from_dict(values)


def test_a_writer_starts_from_the_encoder_and_the_decoder_of_a_pretrained_one(tmp_path: Path) -> None:
    source, model = trained_as(writer_of("span_infilling"), tmp_path), fresh(writer_of("summary"))
    assert start_model(model, writer_of("summary"), VOCABULARY, [source]) == ()
    given = checkpoint.load(source).model.state_dict()
    assert given.keys() == model.state_dict().keys()
    assert all(torch.equal(tensor, given[name]) for name, tensor in model.state_dict().items()), "every parameter"
    assert model.head.decoder.word_embedding is model.encoder.word_embedding


@pytest.mark.parametrize(
    "changed", [{"layers": 2}, {"heads": 4}, {"positions": "reference_parity"}, {"copying": "pointer"}]
)
def test_a_decoder_of_another_make_is_refused(changed: dict[str, Any], tmp_path: Path) -> None:
    source, chosen = trained_as(writer_of("span_infilling"), tmp_path), writer_of("summary", **changed)
    ((name, value),) = changed.items()
    with pytest.raises(CheckpointError, match=rf"has task.writing.decoder.{name} .*, the recipe has {value!r}"):
        start_model(fresh(chosen), chosen, VOCABULARY, [source])


def test_a_writer_that_starts_from_an_encoder_alone_draws_its_decoder(tmp_path: Path) -> None:
    chosen = writer_of("summary")
    source, model = (
        trained_as(recipes.from_dict(chosen.to_dict() | {"task": {"name": "masked_lm"}}), tmp_path),
        fresh(chosen),
    )
    layers = {name: tensor.clone() for name, tensor in model.head.decoder.layers.state_dict().items()}
    assert start_model(model, chosen, VOCABULARY, [source]) == ()
    assert all(torch.equal(tensor, layers[name]) for name, tensor in model.head.decoder.layers.state_dict().items())


def test_skim_embeddings_take_tables_from_a_skimformer_and_the_rest_from_a_bert(tmp_path: Path) -> None:
    model, drawn = fresh(of(SKIM_EMBEDDINGS)), fresh(of(SKIM_EMBEDDINGS)).encoder.state_dict()
    skimformer, bert = trained(tmp_path / "skimformer", SKIMFORMER), trained(tmp_path / "bert", BERT)
    left = start_model(model, of(SKIM_EMBEDDINGS), VOCABULARY, [skimformer, bert])
    assert set(left) == PROJECTIONS
    got, tables, text = model.encoder.state_dict(), encoder_of(skimformer), encoder_of(bert)
    for side in SIDES:
        assert torch.equal(got[f"boxes.tables.{side}.weight"], tables[f"layout_embedding.{side}.weight"])
    assert torch.equal(got["norm.bias"], text["model.embeddings.LayerNorm.bias"])
    assert torch.equal(got["position_embedding.weight"], text["model.embeddings.position_embeddings.weight"])
    assert torch.equal(got["layers.1.attention.key.weight"], text["model.encoder.layer.1.attention.self.key.weight"])
    assert all(torch.equal(got[name], drawn[name]) for name in left)


@pytest.mark.parametrize(("core", "text"), [("bert", BERT), ("layoutlm", LAYOUTLM)])
def test_skimming_mask_skims_as_its_skimformer_and_reads_as_its_core(
    core: str, text: dict[str, Any], tmp_path: Path
) -> None:
    chosen = of(SKIMMING_MASK | {"core": core})
    model = fresh(chosen).eval()
    skimformer, peer = trained(tmp_path / "skimformer", SKIMFORMER), trained(tmp_path / "peer", text)
    assert start_model(model, chosen, VOCABULARY, [peer, skimformer]) == ()
    skim, read = checkpoint.load(skimformer).model.encoder, checkpoint.load(peer).model.encoder
    boxes = torch.tensor([[[10, 20, 300, 40], [400, 20, 500, 40], [10, 60, 900, 80]]])
    mask = torch.ones(1, 3, dtype=torch.bool)
    attention = skim.skim_attention(skim.contextualiser(skim.layout_embedding(boxes), mask), mask)
    torch.testing.assert_close(model.encoder.skimmer(boxes, mask), attention)
    model.encoder.top_k = 3  # every token: nothing is hidden, and what is left is the core
    batch = Batch(input_ids=torch.tensor([[2, 17, 3]]), boxes=boxes, mask=mask)
    torch.testing.assert_close(model.encoder(batch).states, read(batch).states, atol=1e-5, rtol=0)


@pytest.mark.parametrize("core", ["roberta", "bert"])
def test_lambert_reads_as_its_roberta_or_bert_until_it_has_learned_where_words_stand(core: str, tmp_path: Path) -> None:
    kind = KINDS[core]
    chosen, source = of(LAMBERT | kind | {"core": core}), trained(tmp_path, BERT | kind | {"model_type": core})
    model = fresh(chosen).eval()
    left = start_model(model, chosen, VOCABULARY, [source])
    assert left == ("layout.adapter.bias", "layout.adapter.weight")
    torch.nn.init.zeros_(model.encoder.layout.adapter.weight)
    batch = random_batch()
    batch = replace(batch, input_ids=batch.input_ids % 100)
    torch.testing.assert_close(
        model.encoder(batch).states, checkpoint.load(source).model.encoder(batch).states, atol=1e-5, rtol=0
    )


def test_labels_of_the_same_name_keep_their_output_weights(tmp_path: Path) -> None:
    chosen, theirs = of(MODEL), ("O", "B-total", "B-date")
    given_model = checkpoint.build_model(chosen, VOCABULARY, theirs)
    checkpoint.save(
        tmp_path,
        Checkpoint(recipe=chosen, labels=theirs, tokenizer=VOCABULARY, model=given_model, metrics={}, provenance={}),
    )
    model = fresh(replace(chosen, seed=chosen.seed + 1))
    drawn = output_rows(model)
    start_model(model, chosen, VOCABULARY, [str(tmp_path)], labels=LABELS)
    given, got = output_rows(given_model), output_rows(model)
    assert torch.equal(got, torch.stack([given[0], given[2], drawn[2]])), "the checkpoint does not know I-date"


def output_rows(model: TaskModel) -> torch.Tensor:
    """Weights and bias of each output."""
    classifier = model.head.get_submodule("classifier")
    assert isinstance(classifier, torch.nn.Linear)
    return torch.cat([classifier.weight, classifier.bias[:, None]], 1).detach().clone()


@pytest.mark.parametrize("core", ["roberta", "bert"])
def test_formnet_reads_nearly_as_its_core_at_first(core: str, tmp_path: Path) -> None:
    kind = KINDS[core]
    chosen = of(FORMNET | kind | {"core": core})
    model = fresh(chosen).eval()
    source = trained(tmp_path, BERT | kind | {"model_type": core})
    drawn = start_model(model, chosen, VOCABULARY, [source])
    assert {name.split(".")[0] for name in drawn} == {"global_embedding", "global_norm", "layers", "super_tokens"}
    assert not any("query" in name and "rich" not in name for name in drawn if name.startswith("layers"))
    batch = words_of(random_batch())
    read = real_states(checkpoint.load(source).model, batch)
    change = (real_states(model, batch) - read).norm() / read.norm()
    assert 0 < change < 0.2, "the global token is new"
    torch.nn.init.normal_(model.encoder.super_tokens.join.adapter.weight)
    assert (real_states(model, batch) - read).norm() / read.norm() > 0.5


def test_skimformer_takes_what_does_not_compute_attention_from_a_bert(tmp_path: Path) -> None:
    chosen = of(SKIMFORMER | {"heads": 2})
    model, source = fresh(chosen), trained(tmp_path, BERT)
    drawn = start_model(model, chosen, VOCABULARY, [source])
    assert {name.split(".")[0] for name in drawn} == {"contextualiser", "layout_embedding", "skim_attention"}
    got, text = model.encoder.state_dict(), encoder_of(source)
    assert torch.equal(got["layers.1.value.weight"], text["model.encoder.layer.1.attention.self.value.weight"])
    assert torch.equal(got["text_norm.bias"], text["model.embeddings.LayerNorm.bias"])


@torch.no_grad()
def real_states(model: TaskModel, batch: Batch) -> torch.Tensor:
    return model.encoder(batch).states[batch.mask]


def words_of(batch: Batch) -> Batch:
    """The batch with token ids of the vocabulary."""
    return replace(batch, input_ids=batch.input_ids % 100)


@pytest.mark.parametrize("name", registry.names("layoutray.architectures", "ARCHITECTURE"))
def test_every_parent_is_an_architecture_with_the_fields_that_are_asked_of_it(name: str) -> None:
    own = set(vars(architectures.load(name).sizes["tiny"]))
    for parent, inherited in architectures.load(name).inherits.items():
        theirs = set(vars(architectures.load(parent).sizes["tiny"]))
        assert {*inherited.fixed, *inherited.shared} <= theirs
        assert set(inherited.shared.values()) <= own


def test_another_vocabulary_is_refused(tmp_path: Path) -> None:
    source = trained(tmp_path, MODEL, ["other", "words"])
    with pytest.raises(CheckpointError, match=r"another vocabulary than that of .*; encode them with tokenizer.path="):
        start_model(fresh(of(MODEL)), of(MODEL), VOCABULARY, [source])


@pytest.mark.parametrize(
    ("start", "model", "message"),
    [
        pytest.param(
            MODEL | {"layers": 1},
            MODEL,
            r"does not fit the recipe's skimformer: model\.layers is 1 there and 2 in the recipe",
            id="fewer layers",
        ),
        pytest.param(
            SKIMFORMER,
            SKIM_EMBEDDINGS | {"layout_hidden": 32},
            r"boxes\.tables\.x\.weight is \(1024, 48\)",
            id="a shape",
        ),
        pytest.param(
            BERT, SKIM_EMBEDDINGS | {"layers": 1}, r"model\.layers 2, the recipe has model\.layers 1", id="layers"
        ),
        pytest.param(
            BERT,
            SKIM_EMBEDDINGS | {"heads": 4},
            r"model\.heads 2, the recipe has model\.heads 4",
            id="heads, of no shape",
        ),
        pytest.param(
            BERT,
            SKIMMING_MASK | {"core": "layoutlm"},
            r"model_type 'bert', the recipe has model\.core 'layoutlm'",
            id="core",
        ),
        pytest.param(
            LAYOUTLM,
            SKIM_EMBEDDINGS,
            r"model_type 'layoutlm'; skim_embeddings starts only from hf with 'bert'",
            id="type",
        ),
        pytest.param(
            SKIMFORMER | {"layout": "uniform"}, SKIM_EMBEDDINGS, r"layout 'uniform'.* with 'boxes'", id="layout"
        ),
        pytest.param(
            BERT, LAMBERT, r"model_type 'bert', the recipe has model\.core 'roberta'", id="positions counted otherwise"
        ),
        pytest.param(
            BERT | {"model_type": "roberta"},
            LAMBERT,
            r"model\.norm_epsilon 1e-12, the recipe has",
            id="epsilon, of no shape",
        ),
        pytest.param(
            BERT | {"norm_epsilon": 1e-5}, SKIM_EMBEDDINGS, r"norm_epsilon 1e-05; skim_embeddings starts", id="epsilon"
        ),
        pytest.param(MODEL, BERT, "architecture skimformer; hf starts only from checkpoints of hf", id="no heir"),
        pytest.param(
            MODEL | {"arch": "longskimformer", "window": 4},
            SKIMMING_MASK,
            "only from checkpoints of skimming_mask, skimformer, hf",
            id="no parent",
        ),
    ],
)
def test_what_does_not_fit_is_refused(
    start: dict[str, Any], model: dict[str, Any], message: str, tmp_path: Path
) -> None:
    source = trained(tmp_path, start)
    with pytest.raises(CheckpointError, match=message):
        start_model(fresh(of(model)), of(model), VOCABULARY, [source])


def test_two_checkpoints_that_give_the_same_are_refused(tmp_path: Path) -> None:
    one, other = trained(tmp_path / "one", BERT), trained(tmp_path / "other", BERT)
    with pytest.raises(
        CheckpointError, match=r"other and .*one both give layers\.0\..* and \d+ more; start from one of them"
    ):
        start_model(fresh(of(SKIM_EMBEDDINGS)), of(SKIM_EMBEDDINGS), VOCABULARY, [one, other])


def test_a_job_starts_from_two_checkpoints_and_says_so(tmp_path: Path) -> None:
    parents = [job(tmp_path / model["arch"], of(model, "masked_lm")) for model in (SKIMFORMER, BERT)]
    for parent in parents:
        alone(parent)
    folders = tuple(str(parent.out) for parent in parents)
    joined = job(tmp_path / "joined", of(SKIM_EMBEDDINGS, vocabulary=folders[0]), init=folders)
    alone(joined)
    provenance = checkpoint.load(joined.out).provenance
    assert provenance["init"] == list(folders)
    assert set(provenance["fresh"]) == PROJECTIONS
    assert json.loads((joined.out / "job.json").read_text())["init"] == list(folders)
    tables = load_file(joined.out / "model.safetensors")["encoder.boxes.tables.x.weight"]
    assert torch.equal(tables, encoder_of(folders[0])["layout_embedding.x.weight"]), (
        "one step at learning rate 0 changes nothing"
    )
