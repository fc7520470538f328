"""Write generated claims as fillable PDF files, flattened, and as pictures, to train on copies from the forms."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from layoutray.cli.shared import terminal

_FIRST = ["Ada", "Grace", "Emmy", "Sofia", "Mary", "Hedy", "Maria", "Lise"]
_LAST = ["Lovelace", "Hopper", "Noether", "Kovalevskaya", "Somerville", "Lamarr", "Agnesi", "Meitner"]
_COUNTRIES = {"d": "Germany", "f": "France", "n": "Netherlands"}
_LYING = 10
"""One claim in so many shows another amount than it states."""
_FIELDS = """[task.fields]
employee = { type = "name", form_fields = ["claim.name"] }
travelled = { type = "date", form_fields = ["claim.date"] }
country = { form_fields = ["claim.country"] }
claimed = { type = "amount", form_fields = ["claim.total"] }
"""


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks forms", description=__doc__)
    parser.add_argument("out", type=Path, help="new folder for forms/, flat/, pictures/ and claim.toml")
    parser.add_argument("--count", type=int, default=12, help="number of claims (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the claims (default: %(default)s)")
    options = parser.parse_args(arguments)
    for folder in ("forms", "flat", "pictures"):
        (options.out / folder).mkdir(parents=True)
    (options.out / "claim.toml").write_text(_FIELDS)
    random = Random(options.seed)
    for number in range(options.count):
        name = f"claim {number + 1:03}"
        with pdfium.PdfDocument(_claim(random, lies=number % _LYING == 3)) as document:
            document.save(options.out / "forms" / f"{name}.pdf")
            document.init_forms()
            document[0].render(scale=2).to_pil().save(options.out / "pictures" / f"{name}.png")
            pdfium_c.FPDFPage_Flatten(document[0], pdfium_c.FLAT_NORMALDISPLAY)
            document.save(options.out / "flat" / f"{name}.pdf")
    terminal.say(f"{options.count} claims: {options.out}")
    return 0


def _claim(random: Random, *, lies: bool) -> bytes:
    """A fillable file without a table of its objects, which PDFium makes itself."""
    name = f"{random.choice(_FIRST)} {random.choice(_LAST)}"
    date = f"2026-{random.randint(1, 12):02}-{random.randint(1, 28):02}"
    country, total = random.choice([*_COUNTRIES]), f"{random.randint(20, 900)}.{random.randint(10, 99)}"
    options = " ".join(f"[({key}) ({label})]" for key, label in _COUNTRIES.items())
    rows = [
        ("Name of employee", f"/FT /Tx /T (claim.name) /V ({name})", name),
        ("Date of travel", f"/FT /Tx /T (claim.date) /V ({date})", date),
        ("Country", f"/FT /Ch /Ff 131072 /T (claim.country) /Opt [{options}] /V ({country})", _COUNTRIES[country]),
        ("Amount claimed", f"/FT /Tx /T (claim.total) /V ({total})", f"EUR {'9' * lies}{total}"),
    ]
    fonts = "/Resources << /Font << /F 5 0 R >> >>"
    printed, widgets = "BT /F 24 Tf 60 700 Td (Travel expense claim) Tj ET ", list[str]()
    for number, (label, entries, drawn) in enumerate(rows):
        y = 640 - 50 * number
        printed += f"BT /F 12 Tf 60 {y + 8} Td ({label}) Tj ET 200 {y} 260 28 re S "
        at = f"/Rect [200 {y} 460 {y + 28}] /F 4 /DA (/F 12 Tf 0 g) /AP << /N {7 + 2 * number} 0 R >>"
        widgets.append(f"<< /Type /Annot /Subtype /Widget {entries} {at} >>")
        shown = f"/Tx BMC BT /F 12 Tf 2 8 Td ({drawn}) Tj ET EMC"
        widgets.append(_stream(shown, f"/Type /XObject /Subtype /Form /BBox [0 0 260 28] {fonts}"))
    fields = " ".join(f"{6 + 2 * number} 0 R" for number in range(len(rows)))
    objects = [
        f"<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [{fields}] >> >>",
        "<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Annots [{fields}] {fonts} >>",
        _stream(printed),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        *widgets,
    ]
    body = "".join(f"{number} 0 obj\n{one}\nendobj\n" for number, one in enumerate(objects, 1))
    return f"%PDF-1.7\n{body}trailer\n<< /Root 1 0 R >>\n%%EOF\n".encode()


def _stream(content: str, entries: str = "") -> str:
    return f"<< {entries} /Length {len(content)} >>\nstream\n{content}\nendstream"
