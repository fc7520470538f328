"""Words that earlier runs have read, found among the pages of the data set.

The identity of a page contains its labels and the whole recipe. So other labels, or a recipe that differs beside
recognition, plan new pages of the same files; their words are those of the earlier pages.
"""

from dataclasses import replace

import pyarrow.compute as pc

from layoutray.errors import MissingDependencyError
from layoutray.ocr import engines
from layoutray.ocr.page import RecognisedPage
from layoutray.ocr.settings import Recognition
from layoutray.prepare.output import Output
from layoutray.prepare.page_tasks import PageTask
from layoutray.prepare.record_codecs import PAGE_TASK
from layoutray.store import codec, shards
from layoutray.store.schema import PAGES
from layoutray.store.spilled import TEXT, SpilledDict, SpilledList

_COLUMNS = ("doc_id", "page", "source", "image")


def recall(tasks: SpilledList[PageTask], output: Output, recognition: Recognition) -> SpilledList[PageTask]:
    """The tasks; those whose page has words in `output` from the same engine, version and settings say in which shard.

    A page whose words are a text layer has no settings of recognition, and is read again.
    """
    try:
        version = engines.load(recognition.engine).version(recognition.settings)
    except (ImportError, MissingDependencyError):  # without it, only text layers are read
        return tasks
    read_alike = (
        pc.field("words_from").isin(["ocr", "text_layer"])  # people have changed others
        & (pc.field("engine") == recognition.engine)
        & (pc.field("engine_version") == version)
        & (pc.field("settings") == recognition.as_json())
    )
    places = SpilledDict(TEXT)
    for uri in shards.shards(output.pages):
        for table in shards.scan(uri, PAGES, _COLUMNS, read_alike):
            for doc_id, number, source, image in zip(*table.to_pydict().values(), strict=True):
                if source == image:  # else the document's id is not that of the picture
                    places[_key(doc_id, number)] = uri
    recalled = SpilledList(PAGE_TASK)
    recalled.extend(replace(task, read_in=places.get(_key(task.doc_id, task.page)) or "") for task in tasks)
    return recalled


def words_of(task: PageTask) -> RecognisedPage:
    """The page as it was read before, without labels."""
    its_row = (pc.field("doc_id") == task.doc_id) & (pc.field("page") == task.page)
    (page,) = codec.pages_of(shards.read(task.read_in, PAGES, filter=its_row))
    words = tuple(replace(word, tag=None, group=None) for word in page.words)
    return RecognisedPage(
        number=page.number,
        width=page.width,
        height=page.height,
        words=words,
        provenance=page.provenance,
        form_fields=page.form_fields,
    )


def _key(doc_id: str, number: int) -> str:
    return f"{doc_id} {number}"
