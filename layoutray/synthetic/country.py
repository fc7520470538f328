"""Invented people, companies, addresses and numbers, as countries write them. None of them exists."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from random import Random

from layoutray import config
from layoutray.synthetic.items import Currency
from layoutray.synthetic.wordings import data

_COMPANIES = (
    "{brand} {trade} {ending}", "{surname} {trade} {ending}", "{brand} {ending}", "{surname} & {surname} {ending}",
    "{trade} {surname}", "{abbr} {trade} {ending}", "{brand} {trade} {city}", "{abbr} {ending}",
    "{brand} {brand} {ending}",
)  # fmt: skip
_STARTS = ("b", "br", "c", "d", "f", "g", "gr", "h", "k", "l", "m", "n", "p", "pr", "qu", "r", "s", "st", "t", "v", "z")
_VOWELS = ("a", "e", "i", "o", "u", "ia", "ea", "io", "oo")
_ENDS = ("l", "n", "r", "x", "s", "ra", "na", "ta", "co", "tec", "via", "mont", "dale", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Country:
    """How a country writes what documents state. `countries.toml` describes the patterns. `weight`: share of pages."""

    language: str
    weight: int
    currency: Currency
    amounts: tuple[str, ...]
    dates: tuple[str, ...]
    rates: tuple[float, ...]
    phones: tuple[str, ...]
    tax_numbers: tuple[str, ...]
    registration_numbers: tuple[str, ...]
    ibans: tuple[str, ...]
    addresses: tuple[str, ...]
    streets: tuple[str, ...]
    stems: tuple[str, ...]
    areas: tuple[str, ...] = ()
    cities: tuple[str, ...]
    forenames: tuple[str, ...]
    surnames: tuple[str, ...]
    companies: tuple[str, ...] = _COMPANIES
    endings: tuple[str, ...]

    def filled(self, patterns: Sequence[str], random: Random, **names: str) -> str:
        """One of the patterns, filled in: `names`, the lists of this country, digits and letters."""

        def part(found: re.Match[str]) -> str:
            match found[0]:
                case "#":
                    return random.choice("0123456789")
                case "@":
                    return random.choice("ABCDEFGHJKLMNPRSTUVWXYZ")
                case "{n}":
                    return str(random.randint(1, 240))
                case "{k}":
                    return str(random.randint(1, 30))
                case "{brand}":
                    return brand(random)
                case "{abbr}":
                    return random.choice(("{}{}{}", "{}.{}.{}.", "{}{}")).format(*random.sample("ABCDEGHKLMNPRSTVW", 3))
                case "{trade}":
                    return random.choice(data("phrases")[self.language]["trades"])
                case _:
                    name = found[1]
                    return names[name] if name in names else self.filled(getattr(self, f"{name}s"), random)

        return " ".join(re.sub(r"\{(\w+)\}|[#@]", part, random.choice(patterns)).split())

    def company(self, random: Random) -> str:
        return self.filled(self.companies, random, city=random.choice(self.cities).split("|")[0])

    def person(self, random: Random) -> str:
        return f"{random.choice(self.forenames)} {random.choice(self.surnames)}"

    def address(self, random: Random) -> tuple[str, ...]:
        city, region, post = random.choice(self.cities).split("|")
        pattern = random.choice(self.addresses)
        return tuple(
            self.filled([line], random, city=city, region=region, post=self.filled([post], random))
            for line in pattern.split("|")
        )

    def written(self, day: date, pattern: str) -> str:
        month = data("phrases")[self.language]["months"][day.month - 1]
        of_year = {"yyyy": day.year, "yy": f"{day:%y}"}
        return pattern.format(
            d=day.day, dd=f"{day:%d}", m=day.month, mm=f"{day:%m}", month=month, mon=month[:3], **of_year
        )


@cache
def countries() -> dict[str, Country]:
    """The countries by their code of two letters."""
    return {code: config.build(Country, values, code) for code, values in data("countries").items()}


def brand(random: Random) -> str:
    """A name of one to three syllables that means nothing."""
    middle = "".join(random.choice(_STARTS) + random.choice(_VOWELS) for _ in range(random.randint(1, 2)))
    return (middle + random.choice(_ENDS)).capitalize()
