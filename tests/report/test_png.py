from pathlib import Path

import pypdfium2 as pdfium
import pytest
from PIL import Image

from layoutray.report import png


def test_each_picture_is_a_page_and_an_old_file_is_replaced(tmp_path: Path) -> None:
    file = tmp_path / "pictures.pdf"
    for greys in ((10, 128, 250), (60,)):
        png.write((Image.new("RGB", (200, 100 + grey), (grey, grey, grey)) for grey in greys), file)
        with pdfium.PdfDocument(file) as document:
            pages = [document[number].render(scale=2).to_pil() for number in range(len(document))]
        assert [page.size for page in pages] == [(200, 100 + grey) for grey in greys]
        assert [page.getpixel((100, 50))[0] for page in pages] == pytest.approx(greys, abs=2)
