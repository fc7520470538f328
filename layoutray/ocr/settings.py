"""Settings of recognition. They are part of a page's identity: other settings make other pages from the same file."""

import json
from collections.abc import Mapping
from dataclasses import InitVar, dataclass, fields
from typing import Any, Literal

from layoutray import config
from layoutray.errors import InputError, RecipeError
from layoutray.ocr import engines

AUTO = "auto"
"""Language of an engine that an ingest decides from the first pages; see `layoutray.prepare.language`."""
Profile = Literal["fast", "accurate"]

PROFILES: Mapping[Profile, tuple[str, Mapping[str, Any]]] = {
    "fast": ("rapidocr", {"detection": "tiny", "certain": 0.7, "sure": 0.0}),
    "accurate": ("rapidocr", {}),
}
"""Engine of each profile, and its settings beside defaults. `docs/results/ocr.md` has the measurements behind them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recognition:
    """All settings that affect the words of a page. docs/recipes.md explains them.

    Attributes:
        settings: the engine's own settings, an instance of `Engine.settings`; None: its defaults. In a recipe they are
            the section `[recognition.ENGINE]`.
    """

    engine: str = ""
    settings: Any = None
    dpi: int = 200
    text_layer: Literal["auto", "never"] = "auto"
    orientation: Literal["detect", "upright"] = "detect"
    marks: Literal["ignore", "detect"] = "ignore"
    max_pixels: int = 120_000_000
    max_pages: int = 2000
    deadline: float = 120.0
    profile: InitVar[Profile] = "accurate"

    def __post_init__(self, profile: Profile) -> None:
        engine = engines.load(self.engine or PROFILES[profile][0])
        object.__setattr__(self, "engine", engine.name)
        if self.settings is None:
            object.__setattr__(self, "settings", engine.settings(**_settings_of(profile, engine.name)))
        elif not isinstance(self.settings, engine.settings):
            raise InputError(f"the engine {engine.name} takes {engine.settings.__name__}, got {self.settings!r}")

    @classmethod
    def from_section(cls, values: Mapping[str, Any], path: str) -> Mapping[str, Any]:
        """Arguments of the constructor from a recipe's section `path`. Raises RecipeError."""
        profile = values.get("profile", "accurate")
        if profile not in PROFILES:
            raise RecipeError(f"recipe key {path}.profile is {profile!r}; allowed: {', '.join(PROFILES)}")
        name = str(values.get("engine") or PROFILES[profile][0])
        try:
            engine = engines.load(name)
        except InputError as error:
            raise RecipeError(f"recipe key {path}.engine: {error}") from error
        own = [field.name for field in fields(cls) if field.name != "settings"]
        config.check_keys(values, ["profile", *own, name], path)
        settings = config.build(
            engine.settings, {**_settings_of(profile, name), **values.get(name, {})}, f"{path}.{name}"
        )
        return {key: values[key] for key in own if key in values} | {"engine": name, "settings": settings}

    def to_section(self) -> dict[str, Any]:
        own = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "settings"}
        return own | {self.engine: self.settings}

    def as_json(self) -> str:
        """All settings as one line, as the provenance of a page states them."""
        return json.dumps(config.to_dict(self), sort_keys=True, separators=(",", ":"))


def _settings_of(profile: Profile, engine: str) -> Mapping[str, Any]:
    its_engine, settings = PROFILES[profile]
    return settings if engine == its_engine else {}
