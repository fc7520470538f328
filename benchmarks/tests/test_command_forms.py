from pathlib import Path

from benchmarks.commands.forms import main
from layoutray.document.form_answers import is_drawn
from layoutray.ocr.page import recognise_page
from layoutray.ocr.settings import Recognition


def test_claims_are_forms_and_their_flattened_copies_show_the_same(tmp_path: Path) -> None:
    assert main([str(tmp_path / "claims"), "--count", "4"]) == 0
    lying = 0
    for form in sorted((tmp_path / "claims/forms").iterdir()):
        page = recognise_page(form.read_bytes(), 1, Recognition())
        flat = recognise_page((tmp_path / "claims/flat" / form.name).read_bytes(), 1, Recognition())
        assert [one.name for one in page.form_fields] == ["claim.name", "claim.date", "claim.country", "claim.total"]
        assert (flat.form_fields, [w.text for w in flat.words]) == ((), [w.text for w in page.words])
        assert (tmp_path / "claims/pictures" / f"{form.stem}.png").is_file()
        lying += sum(not is_drawn(one) for one in page.form_fields)
    assert lying == 1
