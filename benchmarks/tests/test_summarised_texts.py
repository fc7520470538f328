import pytest

from benchmarks.plugins.summarised_texts import text_truth
from layoutray.document import Field
from layoutray.errors import DocumentError, Reason
from layoutray.readers import DocumentRef

REFERENCE = DocumentRef(key="a", source="a.txt", image="", annotation="", split="train")


def test_summaries_are_fields_and_empty_ones_are_counted() -> None:
    truth = text_truth(REFERENCE, "id", "text", [" one ", "", "two\nlines\n"])
    assert truth.document.fields == (Field("summary", "one"), Field("summary", "two\nlines"))
    assert truth.dropped == 1
    (page,) = truth.pages
    assert (page.source, page.split, truth.document.num_pages) == ("a.txt", "train", 1)


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_a_text_without_words_is_refused(text: str) -> None:
    with pytest.raises(DocumentError, match=r"a\.txt: the text has no words") as refused:
        text_truth(REFERENCE, "id", text, [])
    assert refused.value.reason is Reason.BAD_ANNOTATION
