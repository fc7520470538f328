"""One endpoint in this process for the tests of its description, log and metrics; and the ledgers of both databases."""

from collections.abc import Iterator

import httpx
import pytest

from layoutray.cluster.endpoint.proxy import HeaderCheck
from layoutray.ocr.settings import Recognition
from layoutray.serving.access.keys import KeyStore
from layoutray.serving.jobs.ledger import Ledger
from layoutray.serving.limits import Limits
from layoutray.serving.model import weights_bytes
from layoutray.serving.settings import ServeSettings
from tests.browser import listening
from tests.cluster.checkpoints import save_untrained
from tests.serving.in_process import application
from tests.serving.ledger_places import LedgerPlace

MODELS = "invoices", "orders", "damaged"
"""Models that are not the default one. There is room for one of them. The last one cannot be loaded."""


@pytest.fixture(scope="package")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> ServeSettings:
    folder = tmp_path_factory.mktemp("in_process")
    save_untrained(folder / "checkpoint", fields={"date": {"many": True}, "total": {}})
    for number, name in enumerate(MODELS):
        save_untrained(folder / name, seed=number)
    (folder / MODELS[-1] / "labels.json").unlink()
    KeyStore.open(str(folder / "keys.db"), create=True).close()
    return ServeSettings(
        str(folder / "checkpoint"),
        models={name: str(folder / name) for name in MODELS},
        model_memory_mib=1.5 * weights_bytes(str(folder / "invoices")) / 2**20,
        recognition=Recognition(profile="fast"),
        limits=Limits(max_upload_bytes=2**20, max_pages=3),
        keys=str(folder / "keys.db"),
        jobs=str(folder / "jobs.db"),
        drift=str(folder / "drift.db"),
    )


@pytest.fixture(scope="package")
def admin(endpoint: ServeSettings) -> Iterator[httpx.Client]:
    """A client with a key that may do everything. Jobs are accepted and not processed."""
    store = KeyStore.open(endpoint.keys)
    header = {"Authorization": f"Bearer {store.create('the-admin', ['admin'])}"}
    with (
        application(endpoint) as app,
        listening(HeaderCheck(app)) as url,
        httpx.Client(base_url=url, headers=header, timeout=120) as client,
    ):
        yield client
    store.close()


@pytest.fixture
def ledger(place: LedgerPlace) -> Ledger:
    return place.open()
