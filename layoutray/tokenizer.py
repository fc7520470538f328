"""Sub-word tokenizers: train a WordPiece vocabulary on pages, or load one from a `tokenizer.json` or a Hugging Face folder, old or new.

Words come in already split; each is tokenised on its own, as the papers do, so that every sub-token knows its word.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from layoutray.errors import CheckpointError

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")

# The roles of the special tokens, under the names that BERT's and RoBERTa's vocabularies give them.
_ROLES = {
    "pad": ("[PAD]", "<pad>"),
    "start": ("[CLS]", "<s>"),
    "end": ("[SEP]", "</s>"),
    "mask": ("[MASK]", "<mask>"),
    "unknown": ("[UNK]", "<unk>"),
}


@dataclass(frozen=True)
class Tokenizer:
    """A vocabulary and the ids of its special tokens.

    Attributes:
        inner: the `tokenizers` object; its own truncation, padding and special-token template are switched off.
    """

    inner: tokenizers.Tokenizer
    pad_id: int
    start_id: int
    end_id: int
    mask_id: int
    unknown_id: int

    @property
    def vocab_size(self) -> int:
        return self.inner.get_vocab_size()

    @property
    def special_ids(self) -> tuple[int, ...]:
        return self.pad_id, self.start_id, self.end_id, self.mask_id, self.unknown_id

    def words_to_ids(self, words: list[str]) -> list[list[int]]:
        """Token ids of each word; a word that the normaliser empties gets the unknown token, so that none is lost.

        A blank in front of each word makes byte-level vocabularies see it as a word of running text.
        """
        ids = [
            encoding.ids
            for encoding in self.inner.encode_batch([f" {word}" for word in words], add_special_tokens=False)
        ]
        return [word_ids or [self.unknown_id] for word_ids in ids]

    def text_to_ids(self, text: str) -> list[int]:
        """Token ids of a text that a model is to write: the start token, with which writing begins, parts its lines; blank ones go."""
        lines = [self.words_to_ids(words) for line in text.splitlines() if (words := line.split())]
        return [piece for line in lines for piece in (self.start_id, *(piece for word in line for piece in word))][1:]

    def ids_to_text(self, ids: Iterable[int]) -> str:
        """What `ids` say, as far as the vocabulary keeps it: WordPiece forgets, as BERT's, case and the blanks around punctuation."""
        lines: list[list[int]] = [[]]
        for piece in ids:
            lines.append([]) if piece == self.start_id else lines[-1].append(piece)
        return "\n".join(" ".join(self.inner.decode(line).split()) for line in lines)

    def save(self, path: Path) -> None:
        self.inner.save(str(path))


def train_wordpiece(words: Iterable[str], vocab_size: int) -> Tokenizer:
    """A lower-cased WordPiece vocabulary (as bert-base-uncased's) of about `vocab_size` pieces: more where there are more characters.

    Args:
        words: every word of the training pages, in any order; the result depends on their counts alone.
    """
    normalizer, pre_tokenizer = normalizers.BertNormalizer(lowercase=True), pre_tokenizers.BertPreTokenizer()

    @lru_cache(maxsize=1 << 16)
    def marked(word: str) -> list[str]:
        pieces = (piece for piece, _ in pre_tokenizer.pre_tokenize_str(normalizer.normalize_str(word)))
        return [_mark(piece) for piece in pieces if max(piece) < _CONTINUES]

    pairs = tokenizers.Tokenizer(models.BPE())
    trainer = trainers.BpeTrainer(vocab_size=vocab_size, special_tokens=list(SPECIAL_TOKENS), show_progress=False)
    pairs.train_from_iterator(_chunks(piece for word in words for piece in marked(word)), trainer)
    vocabulary = {_unmark(piece): index for piece, index in pairs.get_vocab().items()}
    return _wordpiece(models.WordPiece(vocabulary, **_WORDPIECE), normalizer)


def load(path: str | Path) -> Tokenizer:
    """The tokenizer of a `tokenizer.json`, or of a folder that holds one, or else a vocabulary in an older form.

    That is BERT's `vocab.txt`, or RoBERTa's `vocab.json` with `merges.txt`.

    Raises:
        CheckpointError: when there is none, it cannot be parsed, or a special token is missing.
    """
    folder = Path(path)
    file = folder / "tokenizer.json" if folder.is_dir() else folder
    if file.is_file():
        return parse(file.read_text(encoding="utf-8"), str(file))
    for names, read in _OLDER.items():
        files = [folder / name for name in names]
        if all(one.is_file() for one in files):
            return _readable(partial(read, *files), " with ".join(map(str, files)))
    older = ", or ".join(" with ".join(names) for names in _OLDER)
    raise CheckpointError(
        f"no tokenizer.json at {path}; give that file, or a folder that holds it (or, as older releases do, {older})"
    )


def parse(text: str, where: str = "the text") -> Tokenizer:
    """The tokenizer in the text of a `tokenizer.json`. Raises CheckpointError, with `where` in its message."""
    return _readable(lambda: wrap(tokenizers.Tokenizer.from_str(text)), where)


def _readable(read: Callable[[], Tokenizer], where: str) -> Tokenizer:
    try:
        return read()
    except CheckpointError:
        raise
    except Exception as error:  # the tokenizers library raises bare Exception for every parse error
        raise CheckpointError(f"{where} is not a tokenizers file: {error}") from error


def wrap(inner: tokenizers.Tokenizer) -> Tokenizer:
    """`inner` with the ids of its special tokens looked up. Raises CheckpointError when one is missing."""
    inner.no_truncation()
    inner.no_padding()
    vocabulary = inner.get_vocab()
    found = {
        role: next((vocabulary[name] for name in names if name in vocabulary), None) for role, names in _ROLES.items()
    }
    missing = [role for role, index in found.items() if index is None]
    if missing:
        raise CheckpointError(
            f"the tokenizer has no {', '.join(missing)} token; it needs one of each of {list(_ROLES.values())}"
        )
    return Tokenizer(inner, **{f"{role}_id": index for role, index in found.items() if index is not None})


_WORDPIECE = {"unk_token": "[UNK]", "max_input_chars_per_word": 100}


def _wordpiece(model: models.WordPiece, normalizer: normalizers.Normalizer) -> Tokenizer:
    inner = _with_special_tokens(model)
    inner.normalizer, inner.pre_tokenizer, inner.decoder = (
        normalizer,
        pre_tokenizers.BertPreTokenizer(),
        decoders.WordPiece(),
    )
    return wrap(inner)


def _read_wordpiece(pieces: Path) -> Tokenizer:
    """BERT's: uncased unless the `tokenizer_config.json` beside it says otherwise."""
    settings = pieces.with_name("tokenizer_config.json")
    said = json.loads(settings.read_text(encoding="utf-8")) if settings.is_file() else {}
    normalizer = normalizers.BertNormalizer(lowercase=said.get("do_lower_case", True))
    return _wordpiece(models.WordPiece.from_file(str(pieces), **_WORDPIECE), normalizer)


def _read_byte_pairs(pieces: Path, merges: Path) -> Tokenizer:
    """RoBERTa's, on bytes."""
    inner = _with_special_tokens(models.BPE.from_file(str(pieces), str(merges)))
    inner.pre_tokenizer, inner.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    return wrap(inner)


def _with_special_tokens(model: models.Model) -> tokenizers.Tokenizer:
    inner = tokenizers.Tokenizer(model)
    inner.add_special_tokens(
        [name for names in _ROLES.values() for name in names if inner.token_to_id(name) is not None]
    )
    return inner


_OLDER: dict[tuple[str, ...], Callable[..., Tokenizer]] = {
    ("vocab.txt",): _read_wordpiece,
    ("vocab.json", "merges.txt"): _read_byte_pairs,
}


# The library's own WordPiece trainer numbers its continuing pieces (##x) in the order of a hash table that differs from run to
# run. Its BPE trainer, which does the same work, is exact. So characters inside a word are moved to code points of their own
# while it trains: they are then letters of an alphabet that it sorts.
_CONTINUES = chr(0x80000)


def _mark(word: str) -> str:
    return word[0] + "".join(chr(ord(letter) + ord(_CONTINUES)) for letter in word[1:])


def _unmark(piece: str) -> str:
    plain = "".join(chr(ord(letter) - ord(_CONTINUES)) if letter >= _CONTINUES else letter for letter in piece)
    return f"##{plain}" if piece[0] >= _CONTINUES else plain


def _chunks(words: Iterable[str], size: int = 1000) -> Iterator[list[str]]:
    chunk: list[str] = []
    for word in words:
        chunk.append(word)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
