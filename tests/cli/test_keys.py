"""Keys from their creation until they are revoked, as a user types it, and an endpoint that is not left open."""

import json
from pathlib import Path

import pytest

from layoutray.cli.main import main
from layoutray.errors import InputError
from layoutray.serving.access.keys import KeyStore
from layoutray.serving.settings import ServeSettings


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def listed(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    capsys.readouterr()
    assert main(["keys", "list"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_key_is_shown_once_listed_without_its_text_and_revoked(capsys: pytest.CaptureFixture[str]) -> None:
    limits = ["--pages-per-day", "100", "--per-minute", "60"]
    assert main(["keys", "create", "acme", "--scope", "jobs", "--scope", "extract", *limits]) == 0
    text = capsys.readouterr().out.strip()
    (key,) = listed(capsys)
    assert (key["name"], key["scopes"], key["pages_per_day"], key["requests_per_minute"], key["revoked"]) == (
        "acme",
        ["extract", "jobs"],
        100,
        60,
        None,
    )
    assert text.rpartition("_")[2] not in json.dumps(key)
    assert KeyStore.open("keys.db").find(text)
    assert main(["keys", "revoke", "acme"]) == 0
    assert listed(capsys)[0]["revoked"]
    assert KeyStore.open("keys.db").find(text) is None


def test_wrong_calls_say_what_is_allowed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["keys", "list"]) == 1
    assert "keys.db does not exist; give a key file" in capsys.readouterr().err
    assert not Path("keys.db").exists()
    for arguments, message in (
        (["acme"], "--scope"),
        (["acme", "--scope", "all"], "extract"),
        (["acme", "--scope", "extract", "--pages-per-day", "0"], "'0' is not a number from 1"),
        (["acme", "--scope", "extract", "--pages-per-day", "9" * 23], "9' is not a number from 1 to 2147483647"),
    ):
        with pytest.raises(SystemExit, match=r"^2$"):
            main(["keys", "create", *arguments])
        assert message in capsys.readouterr().err
    assert main(["keys", "create", "acme", "--scope", "extract"]) == 0
    assert main(["keys", "revoke", "acne"]) == 1
    assert "there is no key 'acne'" in capsys.readouterr().err


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.5", "extractor.example"])
def test_an_endpoint_for_the_network_needs_keys_or_a_word(host: str) -> None:
    with pytest.raises(InputError, match=f"host is {host}, which other machines can reach, and there are no keys"):
        ServeSettings("checkpoint", host=host)
    assert ServeSettings("checkpoint", host=host, keys="keys.db").keys
    assert ServeSettings("checkpoint", host=host, open=True).open
    with pytest.raises(InputError, match="an endpoint with keys is not open"):
        ServeSettings("checkpoint", host=host, keys="keys.db", open=True)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.0.1", "::1", "localhost"])
def test_an_endpoint_for_this_machine_needs_none(host: str) -> None:
    assert ServeSettings("checkpoint", host=host).host == host
