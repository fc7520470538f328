"""Sub-word tokenizers: train a WordPiece vocabulary, or load one from a `tokenizer.json` or a Hugging Face folder.

The input is split into words already. As in the papers, each word is tokenised alone, and every token belongs to one
word.
"""

import json
import math
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from layoutray.errors import CheckpointError

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")

_KNOWN_WORDS = 1 << 16
"""Words whose ids are kept: words repeat, and looking one up is ten times faster than cutting it. About 20 MB."""

_MOST_GROWTH = 1000
"""Of a word by replacements: 26 that double it would make a letter a text of 64 million."""
_CHARACTERS = range(0x21, 0xD800)
"""Code points of most scripts."""

# Roles of special tokens -> their names in the vocabularies of BERT and RoBERTa.
_ROLES = {
    "pad": ("[PAD]", "<pad>"),
    "start": ("[CLS]", "<s>"),
    "end": ("[SEP]", "</s>"),
    "mask": ("[MASK]", "<mask>"),
    "unknown": ("[UNK]", "<unk>"),
}


@dataclass(frozen=True, kw_only=True)
class Tokenizer:
    """A vocabulary and the ids of its special tokens.

    Attributes:
        inner: the `tokenizers` object; its truncation, padding and special-token template are not used.
    """

    inner: tokenizers.Tokenizer
    pad_id: int
    start_id: int
    end_id: int
    mask_id: int
    unknown_id: int
    _known: dict[str, list[int]] = field(default_factory=dict[str, list[int]], init=False, repr=False, compare=False)

    @property
    def vocab_size(self) -> int:
        return self.inner.get_vocab_size()

    @property
    def special_ids(self) -> tuple[int, ...]:
        return self.pad_id, self.start_id, self.end_id, self.mask_id, self.unknown_id

    def words_to_ids(self, words: list[str]) -> list[list[int]]:
        """Token ids of each word. A word that is empty after normalisation gets the unknown token: no word is lost.

        Each word is preceded by a blank, which byte-level vocabularies need to treat it as a word of running text.

        Raises:
            CheckpointError: if the tokenizer fails, for example when its regular expression takes too long on a word.
        """
        ids = {word: found for word in words if (found := self._known.get(word)) is not None}
        new = [word for word in dict.fromkeys(words) if word not in ids]
        with _no_panic():
            encodings = self.inner.encode_batch([f" {word}" for word in new], add_special_tokens=False)
        made = {word: encoding.ids or [self.unknown_id] for word, encoding in zip(new, encodings, strict=True)}
        if len(self._known) + len(made) > _KNOWN_WORDS:
            self._known.clear()
        self._known.update(made)
        ids |= made
        return [ids[word] for word in words]

    @property
    def line_break_id(self) -> int:
        """The token between two lines of a text: the start token, because vocabularies have none for a line break."""
        return self.start_id

    def text_to_ids(self, text: str) -> list[int]:
        """Token ids of a target of text generation; blank lines are dropped."""
        ids: list[int] = []
        for line in text.splitlines():
            words = line.split()
            if not words:
                continue
            if ids:
                ids.append(self.line_break_id)
            for word_ids in self.words_to_ids(words):
                ids.extend(word_ids)
        return ids

    def ids_to_text(self, ids: Iterable[int]) -> str:
        """The text of `ids`, the inverse of `text_to_ids`; WordPiece loses case and blanks around punctuation."""
        lines: list[list[int]] = [[]]
        for token_id in ids:
            if token_id == self.line_break_id:
                lines.append([])
            else:
                lines[-1].append(token_id)
        return "\n".join(" ".join(self.inner.decode(line).split()) for line in lines)


def train_wordpiece(words: Iterable[str], vocab_size: int) -> Tokenizer:
    """Train a lower-cased WordPiece vocabulary, like that of bert-base-uncased.

    Args:
        words: all words of the training pages, in any order; the result depends only on their counts.
        vocab_size: approximate number of pieces; there are more if the words have more different characters.
    """
    normalizer = normalizers.BertNormalizer(lowercase=True)
    pre_tokenizer = pre_tokenizers.BertPreTokenizer()

    # The library's WordPiece trainer numbers continuation pieces (##x) in the order of a hash table, which differs
    # between runs. Its BPE trainer does the same work and is deterministic. During training, the characters of a word
    # after the first are therefore shifted by `mark`, which marks them as continuations: the trainer then sorts them
    # like other characters.
    mark = 0x80000

    @lru_cache(maxsize=1 << 16)
    def training_words(word: str) -> list[str]:
        parts = (part for part, _ in pre_tokenizer.pre_tokenize_str(normalizer.normalize_str(word)))
        return [part[0] + "".join(chr(ord(c) + mark) for c in part[1:]) for part in parts if ord(max(part)) < mark]

    def piece_of(trained: str) -> str:
        plain = "".join(chr(ord(letter) % mark) for letter in trained)
        return plain if ord(trained[0]) < mark else f"##{plain}"

    byte_pairs = tokenizers.Tokenizer(models.BPE())
    trainer = trainers.BpeTrainer(vocab_size=vocab_size, special_tokens=list(SPECIAL_TOKENS), show_progress=False)
    parts = (part for word in words for part in training_words(word))
    byte_pairs.train_from_iterator(iter(lambda: list(islice(parts, 1000)), []), trainer)
    vocabulary = {piece_of(trained): index for trained, index in byte_pairs.get_vocab().items()}
    return _wordpiece(models.WordPiece(vocabulary, **_WORDPIECE), normalizer)


def load(path: str | Path) -> Tokenizer:
    """Load a `tokenizer.json`, or a folder that contains one or a vocabulary in an older format.

    The older formats are BERT's `vocab.txt` and RoBERTa's `vocab.json` with `merges.txt`.

    Raises:
        CheckpointError: if there is no vocabulary, it cannot be parsed, or a special token is missing.
    """
    folder = Path(path)
    file = folder / "tokenizer.json" if folder.is_dir() else folder
    if file.is_file():
        return parse(file.read_text(encoding="utf-8"), str(file))
    for names, read in _OLDER_FORMATS.items():
        files = [folder / name for name in names]
        if all(file.is_file() for file in files):
            return _read(partial(read, *files), " with ".join(map(str, files)))
    older = ", or ".join(" with ".join(names) for names in _OLDER_FORMATS)
    raise CheckpointError(
        f"no tokenizer.json at {path}; give that file, or a folder that contains it or an older format ({older})"
    )


def parse(text: str, source: str = "the text") -> Tokenizer:
    """The tokenizer in the text of a `tokenizer.json`. Raises CheckpointError that names `source`."""

    def checked() -> Tokenizer:
        values = json.loads(text)
        growth = _growth([values.get(name) for name in ("normalizer", "pre_tokenizer")])
        if growth > _MOST_GROWTH:
            raise CheckpointError(
                f"{source} has replacements that may make a word {growth:.3g} times as long; at most {_MOST_GROWTH} "
                "times is allowed"
            )
        return wrap(tokenizers.Tokenizer.from_str(text))

    return _read(checked, source)


def _growth(part: Any) -> float:
    """How many times as long the replacements in a part of a `tokenizer.json` may make a text, one after the other."""
    members = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    growth = math.prod(map(_growth, members))
    if isinstance(part, dict) and part.get("type") == "Prepend":
        growth *= 1.0 + len(part["prepend"])
    if isinstance(part, dict) and part.get("type") == "Replace":
        literal = part["pattern"].get("String", "")  # a regular expression may match the empty text
        growth *= max(len(part["content"]) / len(literal), 1.0) if literal else 1.0 + len(part["content"])
    return growth


def _read(read: Callable[[], Tokenizer], source: str) -> Tokenizer:
    """The result of `read`. Raises CheckpointError that names `source`."""
    try:
        with _no_panic():
            return read()
    except CheckpointError:
        raise
    except Exception as error:  # the tokenizers library raises bare Exception for every parse error
        raise CheckpointError(f"{source} is not a tokenizers file: {error}") from error


@contextmanager
def _no_panic() -> Generator[None]:
    """Raise CheckpointError for a panic of the tokenizers library, which is no Exception of Python."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, Exception | KeyboardInterrupt | SystemExit):
            raise
        raise CheckpointError(f"the tokenizer fails: {error}") from None


def require_short(vocabulary: Tokenizer) -> None:
    """Raise CheckpointError if it makes more than 1000 tokens of one character, such as by a table of its own."""
    most = max(map(len, vocabulary.words_to_ids(list(map(chr, _CHARACTERS)))))
    if most > _MOST_GROWTH:
        raise CheckpointError(f"the tokenizer makes {most} tokens of a character; at most {_MOST_GROWTH} are allowed")


def wrap(inner: tokenizers.Tokenizer) -> Tokenizer:
    """The `Tokenizer` of `inner`. Raises CheckpointError if a special token is missing."""
    inner.no_truncation()
    inner.no_padding()
    vocabulary = inner.get_vocab()
    special_ids: dict[str, int] = {}
    for role, names in _ROLES.items():
        known = [name for name in names if name in vocabulary]
        if known:
            special_ids[f"{role}_id"] = vocabulary[known[0]]
    missing = [role for role in _ROLES if f"{role}_id" not in special_ids]
    if missing:
        raise CheckpointError(
            f"the tokenizer has no {', '.join(missing)} token; it needs one of each of {list(_ROLES.values())}"
        )
    return Tokenizer(inner=inner, **special_ids)


_WORDPIECE = {"unk_token": "[UNK]", "max_input_chars_per_word": 100}


def _wordpiece(model: models.WordPiece, normalizer: normalizers.Normalizer) -> Tokenizer:
    inner = _with_special_tokens(model)
    inner.normalizer = normalizer
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    inner.decoder = decoders.WordPiece()
    return wrap(inner)


def _read_wordpiece(pieces: Path) -> Tokenizer:
    """BERT's format; lower-cased unless `do_lower_case` in `tokenizer_config.json` of the same folder is false."""
    file = pieces.with_name("tokenizer_config.json")
    settings = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    normalizer = normalizers.BertNormalizer(lowercase=settings.get("do_lower_case", True))
    return _wordpiece(models.WordPiece.from_file(str(pieces), **_WORDPIECE), normalizer)


def _read_byte_pairs(pieces: Path, merges: Path) -> Tokenizer:
    """RoBERTa's format: byte pairs of bytes."""
    inner = _with_special_tokens(models.BPE.from_file(str(pieces), str(merges)))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    return wrap(inner)


def _with_special_tokens(model: models.Model) -> tokenizers.Tokenizer:
    inner = tokenizers.Tokenizer(model)
    inner.add_special_tokens(
        [name for names in _ROLES.values() for name in names if inner.token_to_id(name) is not None]
    )
    return inner


_OLDER_FORMATS: dict[tuple[str, ...], Callable[..., Tokenizer]] = {
    ("vocab.txt",): _read_wordpiece,
    ("vocab.json", "merges.txt"): _read_byte_pairs,
}
