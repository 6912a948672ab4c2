"""The storages that hold the contract of the port."""

import random
from collections.abc import Iterator

import pytest

from shared.storage.memory import MemoryStorage
from shared.storage.port import Storage
from tests.faults.fault_injection import Faults, Faulty
from tests.faults.scheduler import Scheduler
from tests.support.azurite import on_azurite, with_identity, with_signature
from tests.support.certificates import self_signed
from throughline.local.azurite import Azurite


@pytest.fixture(params=["memory", "fault wrapper", "azurite, key", "azurite, signature", "azurite, identity"])
def storage(request: pytest.FixtureRequest) -> Storage:
    match request.param:
        case "memory":
            return MemoryStorage()
        case "fault wrapper":
            faults = Faults(scheduler=Scheduler(), chance=random.Random(0))
            wrapper: Storage = Faulty(MemoryStorage(), "storage", faults)
            return wrapper
        case "azurite, key":
            return on_azurite(request.getfixturevalue("azurite").connection_string)
        case "azurite, signature":
            return on_azurite(with_signature(request.getfixturevalue("azurite")))
        case _:
            by_identity: Storage = request.getfixturevalue("by_identity")
            return by_identity


@pytest.fixture(scope="session")
def by_identity(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    """Storage on an Azurite with TLS, by tokens."""
    certificate, key = self_signed(tmp_path_factory.mktemp("certificate"))
    with Azurite(certificate=(certificate, key)) as azurite:
        yield with_identity(azurite, certificate)
