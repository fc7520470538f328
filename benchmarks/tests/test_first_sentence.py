"""ROUGE of first sentences, the baseline of the benchmark `summary-tables`."""

from pathlib import Path

from benchmarks.commands.summary_tables import first_sentence_scores
from layoutray.evaluation.page_selection import PageSelection
from tests.documents import document, write_documents
from tests.jobs import write_pages
from tests.store.pages import page, word


def test_the_first_sentence_is_scored_as_a_summary(tmp_path: Path) -> None:
    folder = tmp_path / "ingested"
    whole = [page("a", 1, word("We"), word("train.")), page("a", 2, word("They"), word("do"), word("not."))]
    write_pages(folder, whole)
    write_documents(folder, [document(whole, "we train", "they do not do that at all")])
    scores = first_sentence_scores(PageSelection((str(folder),), "train"))
    assert (scores["rouge1"], scores["rouge2"], scores["rougeL_low"]) == (1, 1, 1)
