"""CSV files for spreadsheets."""

import csv
import io

from layoutray.formats.spreadsheet import csv_file


def test_no_cell_is_a_formula_and_numbers_stay() -> None:
    formulas = ["=1+1", "+cmd|' /C calc'!A0", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "=x.png", '=HYPERLINK("http://a")']
    kept = ["-12.00", "+7", "-1,5", "a=b", "", "Total - 7", "'x", "ä,\n"]
    rows = list(csv.reader(io.StringIO(csv_file([formulas, kept, [1, -2.5]]).decode(), newline="")))
    assert rows == [["'" + cell.replace("\r", " ") for cell in formulas], kept, ["1", "-2.5"]]
