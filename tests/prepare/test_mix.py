import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutray.errors import InputError, RecipeError
from layoutray.prepare.mix import last_rank, quotas, rank
from layoutray.recipe.mix import MixRecipe

AVAILABLE = {"papers": {"train": 90, "dev": 10, "test": 9}, "forms": {"train": 30, "dev": 10, "test": 0}}


def test_sizes_that_are_not_stated_are_as_large_as_the_shares_allow() -> None:
    taken = quotas(MixRecipe(shares={"papers": 0.5, "forms": 0.5}), AVAILABLE)
    assert taken == {"papers": {"train": 30, "dev": 10, "test": 0}, "forms": {"train": 30, "dev": 10, "test": 0}}


def test_a_stated_size_is_met_to_the_page() -> None:
    taken = quotas(MixRecipe(shares={"papers": 2 / 3, "forms": 1 / 3}, train=10, dev=4), AVAILABLE)
    assert (taken["papers"]["train"], taken["forms"]["train"]) == (7, 3)
    assert (taken["papers"]["dev"], taken["forms"]["dev"]) == (3, 1)


def test_a_data_set_that_is_too_small_is_named_with_what_is_possible() -> None:
    with pytest.raises(
        InputError,
        match="forms has 30 pages in train, but its share of 100 is 50; with these shares, train can have at most 60",
    ):
        quotas(MixRecipe(shares={"papers": 0.5, "forms": 0.5}, train=100), AVAILABLE)


def test_a_mix_of_nothing_is_refused() -> None:
    available = {"photographs": {"test": 9}, "forms": {"train": 30, "dev": 10}}
    with pytest.raises(
        InputError,
        match="train has no page of photographs, dev has no page of photographs, test has no page of forms; leave",
    ):
        quotas(MixRecipe(shares={"photographs": 0.5, "forms": 0.5}), available)


@given(st.lists(st.integers(1, 50), min_size=1, max_size=6), st.integers(1, 500))
def test_parts_sum_up_to_the_size_and_are_a_page_off_their_share_at_most(weights: list[int], size: int) -> None:
    shares = {str(number): weight / sum(weights) for number, weight in enumerate(weights)}
    taken = quotas(MixRecipe(shares=shares, train=size), {name: {"train": size} for name in shares})
    assert sum(of["train"] for of in taken.values()) == size
    assert all(abs(taken[name]["train"] - share * size) < 1 + 1e-6 for name, share in shares.items())


def test_another_seed_takes_other_pages_and_the_same_seed_the_same() -> None:
    def taken(seed: int) -> set[int]:
        last = last_rank((rank(f"p{number}", seed) for number in range(100)), 20)
        return {number for number in range(100) if rank(f"p{number}", seed) <= last}

    assert len(taken(1)) == len(taken(2)) == 20
    assert taken(1) == taken(1) != taken(2)
    assert last_rank([5, 3], 0) == -1


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"shares": {}}, "needs"),
        ({"shares": {"a": 0.5, "b": 0.6}}, "their sum must be 1; it is 1.1"),
        ({"shares": {"a": 1.5, "b": -0.5}}, "above 0"),
        ({"shares": {"a": 1.0}, "dev": -3}, "dev is -3"),
    ],
)
def test_what_cannot_be_mixed_is_refused(values: dict[str, object], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        MixRecipe(**values)  # pyright: ignore[reportArgumentType]
