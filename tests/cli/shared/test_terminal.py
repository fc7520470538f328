"""What is written for people."""

import pytest

from layoutray.cli.shared import terminal


def test_text_of_documents_in_a_table_is_neither_markup_nor_controls_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    terminal.show_table("Values", ("value", "share"), [("[/red][bold]12", 0.5), ("\x1b[2Jgone\x9b1m", "two\nlines")])
    said = capsys.readouterr().err
    assert "[/red][bold]12" in said
    assert "0.5000" in said
    assert "\N{REPLACEMENT CHARACTER}[2Jgone\N{REPLACEMENT CHARACTER}1m" in said
    assert "\x1b" not in said
