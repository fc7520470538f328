import dataclasses
import itertools
from collections import Counter
from collections.abc import Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutray.document import Document, Field
from layoutray.errors import DocumentError, Reason, RecipeError
from layoutray.ocr.settings import Recognition
from layoutray.prepare.discovery import apply_measured_split
from layoutray.prepare.page_tasks import Duplicate, OpenedDocument, Plan
from layoutray.prepare.plan import make_plan, page_id, settings_hash
from layoutray.prepare.record_codecs import OPENED_DOCUMENT, PAGE_TASK, from_table, to_table
from layoutray.readers import DocumentRef
from layoutray.recipe.ingest import IngestRecipe
from layoutray.store.dead_letter import DeadLetter

RECIPE = IngestRecipe(reader="folder", dev_share=0.0)


def opened(source: str, doc_id: str = "", split: str = "train", num_pages: int = 1) -> OpenedDocument:
    document = Document(doc_id=doc_id or source.rpartition("/")[2], source=source, split=split, num_pages=num_pages)
    return OpenedDocument(
        reference=DocumentRef(key=source, source=source, image=source, annotation="", split=split),
        document=document,
        letter=None,
        pages=tuple(range(1, num_pages + 1)),
        repairs=1,
        dropped=2,
    )


def unreadable(source: str) -> OpenedDocument:
    letter = DeadLetter.of(DocumentError(Reason.EMPTY_FILE, "no bytes", stage="open"), source)
    return OpenedDocument(
        reference=DocumentRef(key=source, source=source, image=source, annotation="", split=""),
        document=None,
        letter=letter,
    )


def planned(*found: OpenedDocument, recipe: IngestRecipe = RECIPE, set_splits: Collection[str] = ()) -> Plan:
    return make_plan(found, recipe, set_splits=set_splits)


def splits(plan: Plan) -> dict[str, str]:
    return {task.doc_id: task.reference.split for task in plan.page_tasks}


def test_every_page_is_a_page_task_and_every_file_is_accounted_for() -> None:
    plan = planned(opened("a", num_pages=2), unreadable("b"), opened("c", doc_id="a"))
    assert [(task.doc_id, task.page) for task in plan.page_tasks] == [("a", 1), ("a", 2)]
    assert [letter.source for letter in plan.letters] == ["b"]
    assert list(plan.duplicates) == [Duplicate("c", same_as="a")]
    assert (plan.repairs, plan.dropped) == (1, 2)


def test_of_copies_in_train_and_test_the_one_in_test_stays() -> None:
    plan = planned(
        opened("a", "same", "train"),
        opened("b", "same", "test"),
        opened("c", "same", "train"),
        opened("d", "same", "test"),
    )
    assert [(task.reference.source, task.reference.split) for task in plan.page_tasks] == [("b", "test")]
    assert {duplicate.source for duplicate in plan.duplicates} == {"a", "c", "d"}
    assert {duplicate.same_as for duplicate in plan.duplicates} == {"b"}


def test_names_go_into_the_splits_of_the_recipe_where_the_set_has_none_of_its_own() -> None:
    recipe = IngestRecipe(reader="folder", dev_share=0.0, splits={"dev": r"r_[67]\.", "test": "r_9"})
    found = [opened(f"/x/r_{number}.json") for number in (1, 6, 7, 99)]
    assert splits(planned(*found, recipe=recipe, set_splits={"train"})) == {
        "r_1.json": "train",
        "r_6.json": "dev",
        "r_7.json": "dev",
        "r_99.json": "test",
    }
    held_out = opened("/x/r_6-of-test.json", split="test")
    assert Counter(splits(planned(*found, held_out, recipe=recipe, set_splits={"train", "test"})).values()) == {
        "train": 2,
        "dev": 2,
        "test": 1,
    }
    assert settings_hash(recipe) == settings_hash(dataclasses.replace(recipe, splits={}))


def test_a_page_is_another_one_under_other_settings_but_not_in_other_shards() -> None:
    other = dataclasses.replace(RECIPE, recognition=Recognition(profile="fast"))
    sharded = dataclasses.replace(RECIPE, pages_per_shard=7)
    assert settings_hash(RECIPE) == settings_hash(sharded) != settings_hash(other)
    moved = dataclasses.replace(RECIPE, dev_share=0.3, test_share=0.2, split_by="(.+)_[0-9]+")
    assert settings_hash(RECIPE) == settings_hash(moved)
    assert settings_hash(IngestRecipe(reader="folder", dev_share=0)) == settings_hash(RECIPE)
    settings = [settings_hash(recipe) for recipe in (RECIPE, other)]
    ids = {page_id(*parts) for parts in itertools.product(("a", "b"), (1, 12), ("", "1f"), settings)}
    assert len(ids) == 16
    assert page_id("a1", 2, "", "") != page_id("a", 12, "", "")


def test_the_split_of_a_document_depends_on_nothing_but_its_bytes() -> None:
    recipe = IngestRecipe(reader="folder", dev_share=0.2, test_share=0.1)
    names = [f"doc{number}" for number in range(2000)]
    all_of_them = splits(planned(*(opened(name, split="") for name in names), recipe=recipe))
    half = splits(planned(*(opened(name, split="") for name in reversed(names[:1000])), recipe=recipe))
    assert all(all_of_them[name] == split for name, split in half.items())
    shares = [list(all_of_them.values()).count(split) / 2000 for split in ("train", "dev", "test")]
    assert all(abs(share - expected) < 0.03 for share, expected in zip(shares, (0.7, 0.2, 0.1), strict=True))


def test_dev_is_taken_from_train_alone_and_only_where_the_set_has_none() -> None:
    recipe = IngestRecipe(reader="folder", dev_share=0.5, test_share=0.4)
    found = [opened(f"{split}{number}", split=split) for split in ("train", "test") for number in range(100)]
    without = splits(planned(*found, recipe=recipe))
    assert {without[f"test{number}"] for number in range(100)} == {"test"}
    assert {without[f"train{number}"] for number in range(100)} == {"train", "dev"}
    having = splits(planned(*found, recipe=recipe, set_splits={"dev"}))
    assert {having[f"train{number}"] for number in range(100)} == {"train"}


def test_a_set_whose_test_has_no_truth_is_measured_on_its_dev() -> None:
    recipe = IngestRecipe(reader="folder", measured="dev", dev_share=0.5)
    found = [
        opened(f"{split}{number}", split=split).reference
        for split in ("train", "dev", "test", "")
        for number in range(3)
    ]
    taken = [(measured.source, measured.split) for one in found if (measured := apply_measured_split(one, recipe))]
    assert [source for source, _ in taken] == [reference.source for reference in found if reference.split != "test"]
    assert all(split == ("test" if source.startswith("dev") else source.rstrip("012")) for source, split in taken)
    assert [apply_measured_split(reference, IngestRecipe(reader="folder")) for reference in found] == found
    ignoring = dataclasses.replace(recipe, measured="none")
    kept = [apply_measured_split(one, ignoring) for one in found]
    assert [one and one.split for one in kept] == [""] * len(found)
    assert settings_hash(recipe) == settings_hash(dataclasses.replace(recipe, measured="test"))


@given(
    st.lists(
        st.builds(
            opened,
            st.text(max_size=3),
            st.from_regex("[0-9a-z]{1,3}", fullmatch=True),
            st.sampled_from(["", "train", "test"]),
            st.integers(0, 3),
        )
    )
)
def test_documents_and_page_tasks_are_unchanged_after_packing(found: list[OpenedDocument]) -> None:
    found.append(unreadable("x"))
    assert list(from_table(to_table(map(OPENED_DOCUMENT.pack, found)), OPENED_DOCUMENT)) == found
    plan = planned(*found)
    packed = map(PAGE_TASK.pack, plan.page_tasks)
    assert list(from_table(to_table(packed), PAGE_TASK)) == list(plan.page_tasks)


def test_files_of_one_paper_go_into_one_split() -> None:
    recipe = IngestRecipe(reader="folder", dev_share=0.3, test_share=0.3, split_by=r"(.+)_(?:\d+|black)\.")
    papers = [f"paper.{number}" for number in range(60)]
    found = splits(
        planned(
            *(opened(f"/x/{paper}_{end}", split="") for paper in papers for end in ("3.txt", "17.txt", "black.pdf")),
            recipe=recipe,
        )
    )
    assert all(len({found[f"{paper}_{end}"] for end in ("3.txt", "17.txt", "black.pdf")}) == 1 for paper in papers)
    assert set(found.values()) == {"train", "dev", "test"}


def test_a_name_that_does_not_fit_is_split_by_its_bytes() -> None:
    recipe = IngestRecipe(reader="folder", dev_share=0.5, split_by=r"(.+)_\d+\.")
    names = [f"letter-{number}.png" for number in range(50)]
    assert splits(planned(*(opened(name, split="") for name in names), recipe=recipe)) == splits(
        planned(*(opened(name, split="") for name in names), recipe=dataclasses.replace(recipe, split_by=""))
    )


def test_the_model_that_stated_the_values_is_kept_and_changes_no_page() -> None:
    recipe = dataclasses.replace(RECIPE, from_model="big")
    document = opened("a").document
    assert document
    labelled = dataclasses.replace(opened("a"), document=dataclasses.replace(document, fields=(Field("total", "9"),)))
    plan = planned(labelled, opened("b"), recipe=recipe)
    assert [one.from_model for one in plan.documents] == ["big", ""], "no values, nobody who stated them"
    assert settings_hash(recipe) == settings_hash(RECIPE)
    with pytest.raises(RecipeError, match="those of a person"):
        IngestRecipe(reader="reviewed", from_model="big")


def test_a_document_that_is_known_in_part_is_not_put_into_dev() -> None:
    whole, partial = opened("a", split=""), opened("b", split="")
    assert partial.document
    partial = dataclasses.replace(partial, document=dataclasses.replace(partial.document, partial=True))
    recipe = dataclasses.replace(RECIPE, dev_share=0.999)
    assert splits(planned(whole, partial, recipe=recipe)) == {"a": "dev", "b": "train"}
