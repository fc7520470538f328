import pytest

from benchmarks.measure.spread import Spread
from benchmarks.papers.skim import PAPER_PERPLEXITY, PRETRAINED, RATIOS, TUNED, attention_count, compute_ratio
from layoutray.recipe import recipes


def test_the_ratios_of_perplexity_are_those_of_the_paper() -> None:
    paper = [round(PAPER_PERPLEXITY[one] / PAPER_PERPLEXITY[other], 3) for one, other in RATIOS]
    assert paper == [0.736, 0.095, 0.096, 3.062, 1.611]


@pytest.mark.parametrize(
    ("name", "ratio", "count"),
    [
        ("BERT", 1.0, "12"),
        ("Skimformer", 0.25, "3 skimming"),
        ("LayoutLM + SkimmingMask", 0.3125, "3 skimming + 12 masked"),
    ],
)
def test_attention_is_counted_as_in_the_paper(name: str, ratio: float, count: str) -> None:
    assert compute_ratio(TUNED[name], 12, 2, length=512, top_k=128) == ratio
    assert attention_count(TUNED[name], 12, 2) == count


@pytest.mark.parametrize("name", [*PRETRAINED, *TUNED])
def test_every_row_is_a_valid_model(name: str) -> None:
    model = TUNED[name].model if name in TUNED else PRETRAINED[name]
    resolved = recipes.load("pretrain-tiny", [f"model.{key}={value}" for key, value in model.items()])
    assert resolved.model.items() >= model.items()


def test_every_row_of_table_4_starts_from_rows_of_table_2() -> None:
    assert all(start in PRETRAINED for row in TUNED.values() for start in row.starts)


def test_a_spread_shows_mean_and_range() -> None:
    assert str(Spread.of([1.0, 2.0, 6.0])) == "3 (1 to 6)"
