import pytest

from layoutray.answers import Region


def test_a_part_of_a_region_lies_on_its_slanted_line() -> None:
    line = Region(3, (0, 0, 100, 10, 100, 30, 0, 20))
    assert line.between(0.25, 0.5) == Region(3, (25, 2.5, 50, 5, 50, 25, 25, 22.5))
    assert line.between(0, 1).polygon == pytest.approx(line.polygon)
