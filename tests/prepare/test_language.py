import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from layoutray.cli.main import main as layoutray
from layoutray.document import Box, Word
from layoutray.errors import InputError
from layoutray.ocr import engines
from layoutray.ocr.ppocr.page import PageReader
from layoutray.ocr.ppocr.settings import LETTERS, RapidocrSettings
from layoutray.ocr.tesseract.settings import TesseractSettings
from layoutray.prepare.language import decide
from layoutray.prepare.manifest import Manifest
from tests.ocr.files import encoded, picture

TEXTS = {
    "eng": "Please pay the total amount of this invoice to our account within thirty days",
    "ces": "Prosíme o úhradu celkové částky této faktury na náš účet do třiceti dnů",
    "deu": "Bitte zahlen Sie den gesamten Betrag dieser Rechnung innerhalb von dreißig Tagen auf unser Konto",
    "fra": "Veuillez payer le montant total de cette facture sur notre compte sous trente jours",
    "pol": "Prosimy o zapłatę całkowitej kwoty tej faktury na nasze konto w ciągu trzydziestu dni",
    "spa": "Por favor, pague el importe total de esta factura en nuestra cuenta en treinta días",
    "tur": "Lütfen bu faturanın toplam tutarını otuz gün içinde hesabımıza ödeyiniz",
}


def words(text: str) -> Sequence[Word]:
    return [Word(text=one, box=Box(0, 0, 1, 1)) for one in text.split()]


@pytest.mark.parametrize("language", TEXTS)
def test_words_say_their_language(language: str) -> None:
    found = decide([words(TEXTS[language].upper() + " 12.00 A4Z9X")])
    assert (found.language, found.pages, found.others) == (language, 1, {})
    assert found.certainty > 0.9


def test_the_language_of_most_pages_wins_and_is_less_certain() -> None:
    found = decide([words(TEXTS[language]) for language in ("fra", "deu", "deu")])
    assert (found.language, found.pages) == ("deu", 3)
    assert found.certainty == pytest.approx(2 / 3, abs=0.05)
    assert found.others == {"fra": pytest.approx(1 / 3, abs=0.05)}


def test_five_pages_with_text_decide() -> None:
    blank, german, french = words("12.00"), words(TEXTS["deu"]), words(TEXTS["fra"])
    found = decide([blank, *[german] * 5, *[french] * 9])
    assert (found.language, found.pages, found.others) == ("deu", 5, {})
    with pytest.raises(InputError, match=r"no first page has 40 letters .* set recognition\.rapidocr\.language"):
        decide([blank, words("Hi")])


def test_every_language_whose_letters_are_known_can_be_decided() -> None:
    from layoutray.prepare.language import _CODES, _identifier

    assert _CODES.keys() == LETTERS.keys()
    assert {*_identifier().labels} == {*_CODES.values()}


@pytest.mark.parametrize("use", [engines.load("rapidocr").version, PageReader], ids=["version", "reader"])
def test_no_page_is_read_before_the_decision(use: object) -> None:
    with pytest.raises(InputError, match="which only an ingest can decide; set"):
        use(RapidocrSettings(language="auto"))
    with pytest.raises(InputError, match="Tesseract does not decide the language; set codes"):
        TesseractSettings(language="auto")


@pytest.mark.ray
@pytest.mark.ocr
@pytest.mark.usefixtures("cluster")
def test_an_ingest_decides_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    (folder / "a.png").write_bytes(b"no picture")
    text = "\n".join(" ".join(TEXTS["deu"].split()[first : first + 4]) for first in range(0, 16, 4))
    (folder / "b.png").write_bytes(encoded(picture(text), "PNG"))
    verb = ["ingest", "ingest-folder", str(folder), str(out), "--set", "recognition.rapidocr.language=auto"]
    assert layoutray(verb) == 0
    assert re.search(r"language: deu with certainty \S+; first pages that decided: 1\n", capsys.readouterr().err)
    manifest = Manifest.read(str(out))
    assert manifest.language["language"] == manifest.recipe().recognition.settings.language == "deu"
    Path(out, "manifest.json").unlink()  # as if the run had been killed
    assert layoutray(verb) == 0
    assert "nothing left to do, 1 done before" in capsys.readouterr().err
    decided = Path(out, "language.json")
    decided.write_text(decided.read_text().replace("deu", "fra"))
    assert layoutray([*verb, "--dry-run", "--sample", "0"]) == 0
    assert json.loads(capsys.readouterr().out)["plan"]["language"]["language"] == "fra"
