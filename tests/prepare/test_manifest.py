from pathlib import Path

from layoutray.document import Document
from layoutray.prepare.manifest import IngestRun, make_manifest
from layoutray.prepare.output import Output
from layoutray.prepare.page_tasks import PageTask, Plan
from layoutray.readers import DocumentRef
from layoutray.recipe.ingest import IngestRecipe
from tests.store.pages import page, word


def test_pages_of_dev_and_test_with_the_text_of_a_training_page_are_counted(tmp_path: Path) -> None:
    texts = {"train": ["a b", "a b", "c"], "dev": ["a b", "ab", "d"], "test": ["c", "c", "d", ""]}
    written = [(split, f"{split}{number}", text.split()) for split in texts for number, text in enumerate(texts[split])]
    tasks = [
        PageTask(
            page_id=f"id-{doc_id}",
            doc_id=doc_id,
            page=1,
            reference=DocumentRef(key=doc_id, source=doc_id, image=doc_id, annotation="", split=split),
        )
        for split, doc_id, _ in written
    ]
    output = Output(str(tmp_path))
    output.commit(tasks, [page(doc_id, 1, *map(word, words), split=split) for split, doc_id, words in written])
    plan = Plan(
        page_tasks=tuple(tasks),
        documents=tuple(
            Document(doc_id=task.doc_id, source=task.doc_id, split=task.reference.split, num_pages=1) for task in tasks
        ),
        letters=(),
        duplicates=(),
        repairs=0,
        dropped=0,
    )
    manifest = make_manifest("somewhere", output, plan, IngestRecipe(reader="folder"), IngestRun(len(tasks), 1.0, 1))
    assert (manifest.splits, manifest.known_from_train) == ({"test": 4, "train": 3, "dev": 3}, 3)
    alone = Plan(
        page_tasks=plan.page_tasks[3:], documents=plan.documents[3:], letters=(), duplicates=(), repairs=0, dropped=0
    )
    assert (
        make_manifest("somewhere", output, alone, IngestRecipe(reader="folder"), IngestRun(0, 1.0, 1)).known_from_train
        == 0
    )
