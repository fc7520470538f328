"""Misread values become the owner's known ones; values of others are left alone."""

import pytest

from layoutray.document.field_type import FieldType
from layoutray.tasks.known_values import KnownValue, nearest

VENDORS = FieldType(
    type="name", known_values=("Popular Book Co. (M) Sdn Bhd", "99 Speed Mart", "Restoran Wan Sheng", "ACME")
)
HOUSES = FieldType(type="address", known_values=("No. 49, Jalan Mahagoni 7/2, 44300 Batang Kali",))


@pytest.mark.parametrize(
    ("read", "means"),
    [
        ("RESTORAN WAN SHENG", "Restoran Wan Sheng"),
        ("RSTORAN WAN 5HENG", "Restoran Wan Sheng"),
        ("POPULARBOOK CO. (M) SDN BHD", "Popular Book Co. (M) Sdn Bhd"),
        ("9 SPEED MART", "99 Speed Mart"),
    ],
)
def test_a_misread_value_means_the_known_one(read: str, means: str) -> None:
    known = nearest(read, VENDORS)
    assert known is not None
    assert known.content == means


@pytest.mark.parametrize("read", ["RESTORAN WAH SENG LOI", "ACNE STUDIOS", "SPEED MART", "", "7"])
def test_a_stranger_is_left_alone(read: str) -> None:
    assert nearest(read, VENDORS) is None


def test_another_house_of_the_same_street_is_left_alone() -> None:
    assert nearest("NO 49 JALAN MAHAGONI 7 2 44300 BATANG KAL1", HOUSES) is not None
    assert nearest("NO 5 JALAN MAHAGONI 7 1 44300 BATANG KALI", HOUSES) is None


def test_a_value_that_is_near_two_known_ones_is_left_alone() -> None:
    twins = FieldType(type="name", known_values=("Gardenia Bakeries (KL)", "Gardenia Bakeries (KI)"))
    assert nearest("GARDENIA BAKERIES (KT)", twins) is None
    assert nearest("GARDENIA BAKERIES (KI)", twins) == KnownValue("GARDENIA BAKERIES (KI)", "Gardenia Bakeries (KI)")
