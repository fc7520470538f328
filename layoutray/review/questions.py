"""The next question of the mode yes or no: is this value right? It is the one whose answer is worth most.

An answer decides one value, and says something about those of the same field in similar documents. What some answers
decide is the sum, over all values of the field that need a look, of a value's uncertainty times the similarity of its
document to the most similar document in which the field was answered, as `layoutray.active_learning.choice` chooses
documents. A question is worth its own uncertainty times what its answer adds to this sum, divided by the seconds that a
person is expected to need: a no takes longer than a yes. So a further question about a field in documents of one
template is worth less and less.

The uncertainty is 4c(1 - c) for the confidence c. The similarity is the cosine of which words of three letters or more
the first pages have, 0 if negative; the mean of all documents is subtracted first.
"""

import json
import re
import threading
import time
import zlib
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from layoutray.review.queue import CURRENT, SAID, Filter
from layoutray.review.store import ReviewStore

Place = tuple[int, str]
"""Number of a document, and id of a value in it."""

_COMPARED = 500
"""The most uncertain values, which are compared with each other, and the latest answered ones."""
_KEPT = 5000
"""Documents whose words are kept in memory, 2 KiB each."""
_RESERVED_SECONDS = 120.0
_YES_SECONDS, _NO_SECONDS = 1.6, 3.5
"""Of a person who answers, and corrects after a no (docs/results/review.md)."""
_WIDTH = 512
_WORD = re.compile(r"[^\W\d_]{3,}")


@dataclass(frozen=True, slots=True)
class Question:
    """A proposed value that somebody should look at.

    Attributes:
        number, id: of its document, and its own.
        left: number of values that nobody has looked at, this one included.
    """

    number: int
    id: str
    left: int


@dataclass(slots=True)
class Questions:
    """Chooses questions. Within this process, no two people get the same one in two minutes."""

    store: ReviewStore
    _words: dict[int, NDArray[np.float32]] = field(default_factory=dict[int, NDArray[np.float32]])
    _asked: dict[Place, tuple[str, float]] = field(default_factory=dict[Place, tuple[str, float]])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def next(self, owner: str | None, person: str, without: Collection[Place]) -> Question | None:
        """The question that is worth most; None if no value is left.

        Args:
            owner: whose documents; None for those of all.
            person: who is asked.
            without: what this person was asked already.
        """
        condition, values = Filter(owner=owner).condition()
        rows = self.store.database.rows
        found = rows(_OPEN.format(condition=condition), *values, _COMPARED + len(without))
        answered: dict[str, set[int]] = defaultdict(set)
        for row in rows(_ANSWERED.format(condition=condition), *values, _COMPARED):
            answered[row["name"]].add(row["document"])
        with self._lock:
            pending = {*without, *self._asked_of_others(person)}
            open_ones: dict[str, dict[Place, float]] = defaultdict(dict)
            for row in found:
                place = row["document"], row["id"]
                if place in pending:
                    answered[row["name"]].add(row["document"])
                else:
                    open_ones[row["name"]][place] = row["confidence"]
            if not open_ones:
                return None
            best = self._best(open_ones, answered)
            self._asked[best] = person, time.monotonic() + _RESERVED_SECONDS
        return Question(*best, left=found[0]["left"])

    def _asked_of_others(self, person: str) -> list[Place]:
        now = time.monotonic()
        self._asked = {place: asked for place, asked in self._asked.items() if asked[1] > now}
        return [place for place, (who, _) in self._asked.items() if who != person]

    def _best(self, open_ones: Mapping[str, Mapping[Place, float]], answered: Mapping[str, set[int]]) -> Place:
        numbers = sorted({number for places in open_ones.values() for number, _ in places}.union(*answered.values()))
        at = {number: index for index, number in enumerate(numbers)}
        directions = self._directions(numbers)
        worth: dict[Place, tuple[float, float]] = {}
        for name, places in open_ones.items():
            own = directions[[at[number] for number, _ in places]]
            known = directions[[at[number] for number in answered[name]]] if name in answered else own[:0]
            right = np.fromiter(places.values(), np.float32)
            uncertainty = 4 * right * (1 - right)
            seconds = _YES_SECONDS * right + _NO_SECONDS * (1 - right)
            added = uncertainty * gains(own, known, uncertainty) / seconds
            # Of values that add nothing, such as further ones of an answered document, the least certain first.
            worth |= dict(zip(places, zip(added.tolist(), uncertainty.tolist(), strict=True), strict=True))
        return max(worth, key=lambda place: worth[place])

    def _directions(self, numbers: Sequence[int]) -> NDArray[np.float32]:
        """(documents, width) words of documents, as directions from their mean."""
        if len(self._words) > _KEPT:
            self._words.clear()
        for number in numbers:
            if number not in self._words:
                self._words[number] = self._words_of(number)
        words = np.array([self._words[number] for number in numbers])
        words -= words.mean(0)
        lengths = np.linalg.norm(words, axis=1, keepdims=True)
        return words / np.where(lengths > 0, lengths, 1)

    def _words_of(self, number: int) -> NDArray[np.float32]:
        """Which words the first page of a document has, by hashes."""
        words = np.zeros(_WIDTH, np.float32)
        rows = self.store.database.rows(_FIRST_PAGE, number)
        text = " ".join(word["text"] for row in rows for word in json.loads(row["content"])["words"])
        for word in _WORD.findall(text.casefold()):
            words[zlib.crc32(word.encode()) % _WIDTH] = 1.0
        return words


def gains(
    own: NDArray[np.float32], known: NDArray[np.float32], uncertainty: NDArray[np.float32]
) -> NDArray[np.float32]:
    """What an answer to each value of a field adds.

    Args:
        own: (values, width) directions of the documents of the values.
        known: (answers, width) directions of the documents in which the field was answered.
        uncertainty: of each value.
    """
    similarity = np.maximum(own @ own.T, 0)
    np.fill_diagonal(similarity, 1)  # also of a document without a direction
    nearest = np.maximum((own @ known.T).max(1, initial=0), 0)
    return uncertainty @ np.maximum(similarity - nearest[:, None], 0)


_OPEN = f"""
    SELECT said.document, said.id, said.name, said.confidence, count(*) OVER () AS left FROM {SAID}
    WHERE {{condition}} AND {CURRENT}
    AND documents.state != 'done' AND json_extract(current.content, '$.state') = 'open'
    AND (said.sampled OR NOT json_extract(said.content, '$.accepted'))
    AND NOT EXISTS (
        SELECT 1 FROM documents AS earlier JOIN current AS theirs ON theirs.document = earlier.number
        WHERE (earlier.owner, earlier.doc_id) = (documents.owner, documents.doc_id)
        AND earlier.number < documents.number AND json_extract(theirs.content, '$.name') = said.name
        AND json_extract(theirs.content, '$.row') = json_extract(current.content, '$.row')
        AND json_extract(theirs.content, '$.state') != 'open'
    )
    ORDER BY abs(said.confidence - 0.5), said.rowid LIMIT ?
"""
"""Values that nobody has looked at, without the fields that were answered for an earlier version."""
_ANSWERED = f"""
    SELECT said.document, said.name FROM {SAID}
    WHERE {{condition}} AND json_extract(current.content, '$.state') != 'open' ORDER BY said.rowid DESC LIMIT ?
"""
_FIRST_PAGE = "SELECT content FROM pages WHERE document = ? ORDER BY page LIMIT 1"
