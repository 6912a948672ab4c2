"""The receiver's deployment: by its slot, with every sender's key, and undone where the new package does not work."""

import io
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.infra.test_deploy import NEW, OLD, package, target
from tests.support.played_receiver import PRODUCTION, SLOT, PlayedReceiver
from throughline.cli.deploy.packaging import read_package
from throughline.cli.deploy.progress import DeployError, PollLimits, Progress
from throughline.cli.deploy.receiver import DeployedReceiver, ProbeAnswer

SHORT_WAIT = PollLimits(seconds=0.2, pause=0.01)
COPY = ["put key", "put key"]
"""The keys of the host and of the function that differ."""


@dataclass(kw_only=True)
class Deployment:
    """A deployment of the package NEW."""

    azure: PlayedReceiver
    folder: Path
    slot: str = SLOT
    probe: bool = True
    workers: list[str] = field(default_factory=list)

    @property
    def receiver(self) -> DeployedReceiver:
        return DeployedReceiver(
            az=self.azure,
            target=target(RECEIVER_SLOT=self.slot),
            limits=SHORT_WAIT,
            progress=Progress(io.StringIO()),
            post=self.azure.post,
            probe=self.probe,
            after_swap=SHORT_WAIT,
            deployed=self.folder / "deployed",
        )

    def deploy(self, digest: str = NEW) -> None:
        deployed_package = read_package(package(self.folder, digest=digest))
        self.receiver.deploy(deployed_package, self._deploy_worker)

    def _deploy_worker(self, archive: Path) -> None:
        self.workers.append(read_package(archive).digest)
        self.azure.changes.append("deploy worker")

    @property
    def packages(self) -> tuple[str, str]:
        """The packages in production and in the slot."""
        return self.azure.places[PRODUCTION].package, self.azure.places[SLOT].package


@pytest.fixture
def upgrade(tmp_path: Path) -> Deployment:
    return Deployment(azure=PlayedReceiver(running=OLD), folder=tmp_path)


def test_the_package_works_in_the_slot_before_anything_in_production_is_touched(upgrade: Deployment) -> None:
    upgrade.deploy()
    order = [f"deploy {SLOT}", f"restart {SLOT}", *COPY, "deploy worker", "swap"]
    assert upgrade.azure.changes == order
    assert upgrade.packages == (NEW, OLD)
    assert upgrade.azure.asked[0] == OLD, "whether listeners are answered now"


def test_all_senders_keys_are_accepted_after_a_swap_although_the_process_reads_the_slot_s(upgrade: Deployment) -> None:
    azure = upgrade.azure
    azure.keys[PRODUCTION]["host"]["databricks"] = "of-databricks"
    azure.keys[PRODUCTION]["receiver_function"]["synapse"] = "of-synapse"
    azure.keys[SLOT]["host"]["revoked"] = "revoked-in-production"
    upgrade.deploy()
    process = azure.places[PRODUCTION]
    assert process.named == SLOT, "as Linux leaves it for minutes"
    assert azure.keys[SLOT] == azure.keys[PRODUCTION]
    assert azure.accepts(process, "of-databricks")
    assert not azure.accepts(process, "revoked-in-production"), "a swap revives no key"


def test_a_slot_that_takes_no_keys_is_not_swapped(upgrade: Deployment) -> None:
    upgrade.azure.deaf = True
    with pytest.raises(DeployError, match=r"takes no keys, so a swap could refuse senders\. Production still runs"):
        upgrade.deploy()
    assert upgrade.packages == (OLD, NEW)
    assert upgrade.workers == []


def test_keys_that_the_slot_does_not_keep_are_seen_before_the_swap(upgrade: Deployment) -> None:
    upgrade.azure.forgetful = True
    with pytest.raises(DeployError, match=r"Production still runs the version before.*401: it does not accept its key"):
        upgrade.deploy()
    assert "swap" not in upgrade.azure.changes


def test_a_swap_after_which_a_key_is_refused_is_undone_at_once(upgrade: Deployment) -> None:
    upgrade.azure.refusing = NEW
    with pytest.raises(DeployError, match=r"401: it does not accept its key\. So the swap was undone"):
        upgrade.deploy()
    assert upgrade.packages == (OLD, NEW)
    assert upgrade.azure.changes.count("swap") == 2
    assert upgrade.azure.asked == [OLD, NEW, NEW, NEW, NEW], "three times in the slot; then one refusal is enough"


@pytest.mark.parametrize(
    ("fault", "expected_text"),
    [("broken", "500: the package fails"), ("dead", "503: the host is starting, or in error")],
)
def test_a_package_that_fails_in_the_slot_reaches_neither_production_nor_the_worker(
    upgrade: Deployment, fault: str, expected_text: str
) -> None:
    setattr(upgrade.azure, fault, frozenset({NEW}))
    with pytest.raises(DeployError, match=rf"Production still runs the version before.*{expected_text}"):
        upgrade.deploy()
    assert (upgrade.packages, upgrade.workers) == ((OLD, NEW), [])
    assert "swap" not in upgrade.azure.changes


def test_another_package_s_answers_do_not_count(upgrade: Deployment) -> None:
    """The version before answers alike, in the slot and behind a front end that still has its instances."""
    azure = upgrade.azure
    old = ProbeAnswer(status=400, package=OLD)
    receiver = DeployedReceiver(
        az=azure,
        target=target(RECEIVER_SLOT=SLOT),
        limits=SHORT_WAIT,
        progress=Progress(io.StringIO()),
        post=lambda _url, _key: old,
    )
    with pytest.raises(DeployError, match=rf"another package answers \({OLD[:12]}\), not {NEW[:12]}"):
        receiver.deploy(read_package(package(upgrade.folder)), upgrade._deploy_worker)
    assert "swap" not in azure.changes


def test_a_deployment_is_done_when_several_answers_in_a_row_are_the_new_package_s(upgrade: Deployment) -> None:
    """Instances are replaced one after another, and answer in turn."""
    upgrade.slot = ""
    answers = [OLD, NEW, OLD, NEW, NEW, OLD, NEW, NEW, NEW, NEW]
    receiver = DeployedReceiver(
        az=upgrade.azure,
        target=target(RECEIVER_SLOT=""),
        limits=SHORT_WAIT,
        progress=Progress(io.StringIO()),
        post=lambda _url, _key: ProbeAnswer(status=400, package=answers.pop(0)),
        deployed=upgrade.folder / "deployed",
    )
    receiver.deploy(read_package(package(upgrade.folder)), upgrade._deploy_worker)
    assert answers == [NEW]


@pytest.mark.parametrize(("slot", "running"), [("", OLD), (SLOT, "")], ids=["no slot", "first deployment"])
def test_without_a_slot_or_a_running_version_the_receiver_is_deployed_directly(
    upgrade: Deployment, slot: str, running: str
) -> None:
    upgrade.slot, upgrade.azure.places[PRODUCTION].package = slot, running
    upgrade.deploy()
    assert upgrade.azure.changes == ["deploy worker", f"deploy {PRODUCTION}"]
    assert upgrade.packages == (NEW, "")


def test_a_package_that_does_not_work_is_replaced_by_the_last_one_that_did(upgrade: Deployment) -> None:
    upgrade.slot = ""
    upgrade.deploy(OLD)
    upgrade.azure.dead = frozenset({NEW})
    with pytest.raises(DeployError, match=r"503: .* So the version before was deployed again, to both apps"):
        upgrade.deploy()
    assert (upgrade.packages[0], upgrade.workers) == (OLD, [OLD, NEW, OLD])


def test_a_failed_first_deployment_is_an_error(upgrade: Deployment) -> None:
    upgrade.azure.places[PRODUCTION].package, upgrade.azure.broken = "", frozenset({NEW})
    with pytest.raises(
        DeployError, match=r"throughline doctor.*500: the package fails.* No earlier version was deployed"
    ):
        upgrade.deploy()


def test_rollback_swaps_the_previous_version_into_production_with_the_present_keys(tmp_path: Path) -> None:
    upgrade = Deployment(azure=PlayedReceiver(running=NEW, slot=OLD), folder=tmp_path)
    upgrade.azure.keys[PRODUCTION]["host"]["since"] = "made-after-the-upgrade"
    upgrade.receiver.roll_back()
    assert upgrade.packages == (OLD, NEW)
    assert upgrade.azure.changes == [*COPY, "put key", "swap"]
    assert upgrade.azure.accepts(upgrade.azure.places[PRODUCTION], "made-after-the-upgrade")


def test_rollback_without_a_previous_version_changes_nothing(tmp_path: Path) -> None:
    for slot, message in ((SLOT, "nothing to swap back to"), ("", "git checkout TAG")):
        upgrade = Deployment(azure=PlayedReceiver(running=NEW), folder=tmp_path, slot=slot)
        with pytest.raises(DeployError, match=message):
            upgrade.receiver.roll_back()
        assert upgrade.packages == (NEW, "")
        assert "swap" not in upgrade.azure.changes


def test_a_closed_network_is_reported_and_can_be_deployed_without_a_probe(upgrade: Deployment) -> None:
    closed = DeployedReceiver(
        az=upgrade.azure,
        target=target(RECEIVER_SLOT=SLOT),
        limits=SHORT_WAIT,
        progress=Progress(io.StringIO()),
        post=lambda _url, _key: ProbeAnswer(status=403),
    )
    with pytest.raises(DeployError, match=r"answers 403: .* --no-probe"):
        closed.deploy(read_package(package(upgrade.folder)), upgrade._deploy_worker)
    assert "swap" not in upgrade.azure.changes
    upgrade.probe = False
    upgrade.deploy()
    assert upgrade.packages == (NEW, OLD)
    assert upgrade.azure.asked == []
    assert upgrade.azure.keys[SLOT] == upgrade.azure.keys[PRODUCTION], "the keys need no probe"
