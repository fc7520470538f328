"""Vocabularies: the same pages give the same one, and any tokenizer.json can be taken."""

import json
import random
from pathlib import Path

import pytest
import tokenizers
import transformers
from tokenizers import models, normalizers, pre_tokenizers

from layoutray import tokenizer
from layoutray.errors import CheckpointError

_LETTERS = random.Random(0)
WORDS = ["".join(_LETTERS.choices("abcdefgh", k=_LETTERS.randint(1, 7))) for _ in range(2000)]


def test_the_same_words_in_another_order_give_the_same_file() -> None:
    files = {
        tokenizer.train_wordpiece(random.Random(seed).sample(WORDS, len(WORDS)), 250).inner.to_str()
        for seed in range(3)
    }
    assert len(files) == 1


def test_other_words_give_another_vocabulary() -> None:
    one, other = (tokenizer.train_wordpiece(words, 250).inner.get_vocab() for words in (WORDS, WORDS[:1000]))
    assert one != other


def test_pieces_of_a_word_join_to_the_word() -> None:
    vocabulary = tokenizer.train_wordpiece(WORDS, 250)
    assert vocabulary.vocab_size == 250
    for word, ids in zip(WORDS[:200], vocabulary.words_to_ids(WORDS[:200]), strict=True):
        pieces = [vocabulary.inner.id_to_token(index) for index in ids]
        assert all(piece.startswith("##") for piece in pieces[1:])
        assert pieces[0] + "".join(piece.removeprefix("##") for piece in pieces[1:]) == word


def test_frequent_words_become_one_piece() -> None:
    vocabulary = tokenizer.train_wordpiece(["Invoice"] * 50 + WORDS, 300)
    assert [len(ids) for ids in vocabulary.words_to_ids(["invoice", "INVOICE", "ïnvoice"])] == [1, 1, 1]


def test_a_word_outside_the_alphabet_is_unknown_and_none_is_lost() -> None:
    vocabulary = tokenizer.train_wordpiece(["ab"], 50)
    assert vocabulary.words_to_ids(["猫", "", "\u200b", "ab"])[:3] == [[vocabulary.unknown_id]] * 3


def test_ids_are_the_same_for_known_words_and_when_they_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    vocabulary = tokenizer.train_wordpiece(WORDS, 250)
    expected = [[*vocabulary.inner.encode(f" {word}", add_special_tokens=False).ids] for word in WORDS]
    monkeypatch.setattr(tokenizer, "_KNOWN_WORDS", 100)
    for _ in range(2):
        assert [vocabulary.words_to_ids([word])[0] for word in WORDS] == expected
        assert vocabulary.words_to_ids(WORDS) == expected


def test_texts_come_back_line_by_line() -> None:
    table = tokenizer.train_wordpiece(["sum", "total", "9", "of", "é", ":"], 60)
    text = "total of sum\nsotal: 9\n9"
    ids = table.text_to_ids(f"\n {text.upper()}\n\n")
    assert ids.count(table.start_id) == 2
    assert table.ids_to_text(ids).replace(" :", ":") == text
    assert table.text_to_ids(table.ids_to_text(ids)) == ids
    assert (table.text_to_ids(" \n"), table.ids_to_text([])) == ([], "")
    lost = table.text_to_ids("total 漢 9")
    assert table.unknown_id in lost
    assert table.ids_to_text(lost) == "total 9"


def test_characters_of_every_plane_train() -> None:
    vocabulary = tokenizer.train_wordpiece(["𝒜𝒷𝒷", "日本語", "a\U0010ffff", "\U000f0001\U000f0001"] * 3, 60)
    assert vocabulary.unknown_id not in vocabulary.words_to_ids(["𝒜𝒷𝒷"])[0]


def test_special_tokens_come_first() -> None:
    vocabulary = tokenizer.train_wordpiece(WORDS, 250)
    roles = (vocabulary.pad_id, vocabulary.unknown_id, vocabulary.start_id, vocabulary.end_id, vocabulary.mask_id)
    assert roles == (0, 1, 2, 3, 4)


def test_save_and_load_by_file_and_by_folder(tmp_path: Path) -> None:
    vocabulary = tokenizer.train_wordpiece(WORDS, 250)
    vocabulary.inner.save(str(tmp_path / "tokenizer.json"))
    for path in (tmp_path, tmp_path / "tokenizer.json"):
        assert tokenizer.load(path).words_to_ids(WORDS) == vocabulary.words_to_ids(WORDS)


def test_the_names_of_roberta_are_understood_and_its_template_is_left_out(tmp_path: Path) -> None:
    inner = tokenizers.Tokenizer(
        models.BPE({"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "<mask>": 4, "Ġ": 5, "a": 6, "Ġa": 7}, [("Ġ", "a")])
    )
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.enable_truncation(1)
    inner.enable_padding(length=9)
    inner.save(str(tmp_path / "tokenizer.json"))
    loaded = tokenizer.load(tmp_path)
    assert (loaded.start_id, loaded.pad_id, loaded.end_id, loaded.unknown_id, loaded.mask_id) == (0, 1, 2, 3, 4)
    assert loaded.words_to_ids(["a", "aa"]) == [[7], [7, 6]], (
        "words look like words of running text; nothing is cut or padded"
    )


WRITTEN = ["Total", "TOTAL:", "naïve", "Straße", "猫", "12.50", "unaffable", "[MASK]", "\u200b", "EUR12"]


@pytest.mark.parametrize("lowercase", [True, False])
def test_berts_older_vocabulary_gives_the_same_ids_as_in_its_own_library(lowercase: bool, tmp_path: Path) -> None:
    pieces = [
        *tokenizer.SPECIAL_TOKENS,
        "total",
        "Total",
        ":",
        "na",
        "##i",
        "##ve",
        "##ï",
        "12",
        ".",
        "50",
        "un",
        "##aff",
        "##able",
        "eur",
        "##12",
    ]
    (tmp_path / "vocab.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")
    if not lowercase:
        (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    theirs = transformers.BertTokenizer(str(tmp_path / "vocab.txt"), do_lower_case=lowercase)
    loaded = tokenizer.load(tmp_path)
    assert loaded.vocab_size == len(pieces)
    assert [ids for ids in loaded.words_to_ids(WRITTEN) if ids != [1]] == [
        ids for word in WRITTEN if (ids := theirs.encode(word, add_special_tokens=False)) not in ([], [1])
    ]


def test_robertas_older_vocabulary_gives_the_same_ids_as_in_its_own_library(tmp_path: Path) -> None:
    pieces = [
        "<s>",
        "<pad>",
        "</s>",
        "<unk>",
        "<mask>",
        *sorted(pre_tokenizers.ByteLevel.alphabet()),
        "Ġt",
        "Ġto",
        "al",
    ]
    (tmp_path / "vocab.json").write_text(json.dumps({piece: number for number, piece in enumerate(pieces)}))
    (tmp_path / "merges.txt").write_text("#version: 0.2\nĠ t\nĠt o\na l\n")
    theirs = transformers.RobertaTokenizer(
        str(tmp_path / "vocab.json"), str(tmp_path / "merges.txt"), add_prefix_space=True
    )
    loaded = tokenizer.load(tmp_path)
    assert (loaded.pad_id, loaded.vocab_size) == (1, len(pieces))
    words = ["total", "naïve", "猫", "12.50"]
    assert loaded.words_to_ids(words) == [theirs.encode(word, add_special_tokens=False) for word in words]
    (tmp_path / "merges.txt").write_text("#version: 0.2\nx yz\n")
    with pytest.raises(CheckpointError, match=r"merges\.txt is not a tokenizers file"):
        tokenizer.load(tmp_path)


def test_what_is_no_tokenizer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"no tokenizer\.json at"):
        tokenizer.load(tmp_path)
    file = tmp_path / "tokenizer.json"
    file.write_text("{}")
    with pytest.raises(CheckpointError, match="not a tokenizers file"):
        tokenizer.load(file)
    saved = json.loads(tokenizer.train_wordpiece(WORDS, 250).inner.to_str())
    del saved["model"]["vocab"]["[MASK]"]
    saved["added_tokens"] = [token for token in saved["added_tokens"] if token["content"] != "[MASK]"]
    file.write_text(json.dumps(saved))
    with pytest.raises(CheckpointError, match="no mask token"):
        tokenizer.load(file)


@pytest.mark.parametrize("pattern", [{"String": "a"}, {"Regex": "a"}])
@pytest.mark.parametrize("place", ["normalizer", "pre_tokenizer"])
def test_replacements_that_make_a_letter_a_book_are_refused(
    tmp_path: Path, pattern: dict[str, str], place: str
) -> None:
    saved = json.loads(tokenizer.train_wordpiece(WORDS, 250).inner.to_str())
    doubling = [{"type": "Replace", "pattern": pattern, "content": "aa"}] * 26
    kind = {"normalizer": "normalizers", "pre_tokenizer": "pretokenizers"}[place]
    saved[place] = {"type": "Sequence", kind: [{"type": "Sequence", kind: doubling[:13]}, *doubling[13:]]}
    (tmp_path / "tokenizer.json").write_text(json.dumps(saved))
    with pytest.raises(CheckpointError, match="times as long; at most 1000 times"):
        tokenizer.load(tmp_path)


def test_a_prefix_that_makes_a_letter_a_book_is_refused(tmp_path: Path) -> None:
    saved = json.loads(tokenizer.train_wordpiece(WORDS, 250).inner.to_str())
    saved["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "a" * 50}] * 3}
    (tmp_path / "tokenizer.json").write_text(json.dumps(saved))
    with pytest.raises(CheckpointError, match="times as long; at most 1000 times"):
        tokenizer.load(tmp_path)


def test_a_character_of_which_a_table_makes_a_book_is_found() -> None:
    trained = tokenizer.train_wordpiece(WORDS, 250)
    tokenizer.require_short(trained)
    trained.inner.normalizer = normalizers.Replace("\u4e2d", "a " * 1001)  # as a table of the library may say
    with pytest.raises(CheckpointError, match="makes 1001 tokens of a character"):
        tokenizer.require_short(tokenizer.wrap(trained.inner))


def test_a_panic_of_the_library_is_an_error_without_the_word() -> None:
    trained = tokenizer.train_wordpiece(WORDS, 250)
    trained.inner.pre_tokenizer = pre_tokenizers.Split(tokenizers.Regex("(a+)+$"), "isolated")
    with pytest.raises(CheckpointError, match="the tokenizer fails: Onig: ") as failed:
        trained.words_to_ids(["a" * 50 + "!"])
    assert "aaa" not in str(failed.value)
