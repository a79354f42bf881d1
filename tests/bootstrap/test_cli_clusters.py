"""Several clusters of one config file are one commit or one pull request, of one download of the release."""

from __future__ import annotations

import base64
import os
import stat
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from loopback_server import LoopbackServer

from bootstrap.cli_runs import Laptop, clone_with, files_of
from bootstrap.mounted_secret import secret_of
from flux_upgrade.model.errors import InvalidConfig, UsageError
from git_servers import WRITE, Bare, HttpHost, git

CONFIG = """\
bootstrap:
  provider: gitea
  flags:
    hostname: {host}
    repository: octo/fleet
    token-auth: true
    components-extra: [image-reflector-controller]
  clusters:
    staging:
      path: clusters/staging
    production-eu:
      path: clusters/production-eu
    production-us:
      path: clusters/production-us
      network-policy: false
"""
NAMES = ("staging", "production-eu", "production-us")
PATHS = sorted(
    f"clusters/{name}/flux-system/{file}"
    for name in NAMES
    for file in ("gotk-components.yaml", "gotk-sync.yaml", "kustomization.yaml")
)


class Counting(SimpleHTTPRequestHandler):
    """A release source over HTTP that counts."""

    def __init__(self, *arguments: Any, asked: Counter[str], directory: str) -> None:
        self._asked = asked
        super().__init__(*arguments, directory=directory)

    def do_GET(self) -> None:
        self._asked[self.path] += 1
        super().do_GET()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the name is http.server's)
        del format, args


@contextmanager
def counting(folder: Path) -> Iterator[tuple[str, Counter[str]]]:
    asked = Counter[str]()
    handler = partial(Counting, asked=asked, directory=str(folder))
    with LoopbackServer(handler) as server:
        yield server.url, asked


@pytest.fixture
def bare(host: HttpHost, tmp_path: Path) -> Bare:
    bare = Bare.make(host.root / "octo" / "fleet.git")
    git("push", "--quiet", bare.folder, "main", at=clone_with(tmp_path / "ann"))
    return bare


@pytest.fixture
def checkout(tmp_path: Path, host: HttpHost) -> Path:
    folder = clone_with(tmp_path / "fleet", f"{host.url}/octo/fleet.git")
    (folder / ".github").mkdir()
    (folder / ".github" / "flux-upgrade.yaml").write_text(CONFIG.format(host=host.url))
    return folder


@pytest.fixture
def laptop(written_source: Path) -> Laptop:
    return Laptop(written_source, {"GITEA_TOKEN": WRITE})


def test_one_commit_for_all(laptop: Laptop, bare: Bare, checkout: Path) -> None:
    done = laptop.bootstrap(checkout, "--push", "--json").well()
    assert [each["name"] for each in done.value["clusters"]] == list(NAMES)
    assert git("diff", "--name-only", "main^", "main", at=bare.folder).splitlines() == PATHS
    policies = {
        name: "NetworkPolicy" in bare.content(f"main:clusters/{name}/flux-system/gotk-components.yaml")
        for name in NAMES
    }
    assert policies == {"staging": True, "production-eu": True, "production-us": False}
    again = laptop.bootstrap(checkout, "--push", "--json").well()
    assert again.value["outcome"] == "none"
    assert git("rev-list", "--count", "main", at=bare.folder) == "2"


def test_one_pull_request_for_all(laptop: Laptop, bare: Bare, checkout: Path) -> None:
    bare.take_agit()
    done = laptop.bootstrap(checkout, "--pull-request", "--json").well()
    assert done.value["pull-request"]["branch"] == "flux-upgrade/clusters/bootstrap"
    assert len([option for option in bare.options() if option.startswith("title=")]) == 1
    (packed,) = [option for option in bare.options() if option.startswith("description=")]
    description = base64.b64decode(packed.partition("{base64}")[2]).decode()
    assert all(f"clusters/{name}" in description for name in NAMES)
    assert list(git("ls-tree", "--name-only", "main", at=bare.folder).splitlines()) == ["README.md"]


def test_a_release_is_fetched_once(laptop: Laptop, checkout: Path) -> None:
    with counting(laptop.source) as (url, asked):
        laptop.run("bootstrap", f"--release-source={url}", checkout, "--json").well()
    assert asked["/v2.9.4/manifests.tar.gz"] == 1
    assert set(asked.values()) == {1}, asked


def test_one_of_them(laptop: Laptop, checkout: Path) -> None:
    done = laptop.bootstrap(checkout, "--cluster=staging", "--json").well()
    assert done.cluster["name"] == "staging"
    assert sorted(files_of(checkout / "clusters")) == [
        path.removeprefix("clusters/") for path in PATHS if "staging" in path
    ]
    rest = laptop.bootstrap(checkout, "--json").well()
    assert [len(each["files"]) for each in rest.value["clusters"]] == [0, 3, 3]


def test_a_cluster_that_is_not_there(laptop: Laptop, checkout: Path) -> None:
    laptop.bootstrap(checkout, "--cluster=stagin").refused(UsageError, "stagin", "did you mean", "staging")
    assert not (checkout / "clusters").exists()


def test_the_command_line_wins(laptop: Laptop, checkout: Path) -> None:
    done = laptop.bootstrap(checkout, "--interval=3m", "--network-policy=true", "--json").well()
    for name in NAMES:
        folder = checkout / "clusters" / name / "flux-system"
        assert "interval: 3m0s" in (folder / "gotk-sync.yaml").read_text()
        assert "NetworkPolicy" in (folder / "gotk-components.yaml").read_text()
    assert done.value["outcome"] == "updated"


def test_a_folder_of_secrets(laptop: Laptop, checkout: Path, tmp_path: Path) -> None:
    folder = tmp_path / "secrets"
    folder.mkdir(mode=0o700)
    laptop.bootstrap(checkout, f"--secret-file={folder}", env={"FLUX_UPGRADE_SYNC_TOKEN": "sync-77"}).well()
    assert sorted(os.listdir(folder)) == sorted(f"{name}.yaml" for name in NAMES)
    for name in NAMES:
        file = folder / f"{name}.yaml"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert secret_of(file)["password"] == "sync-77"


def test_each_cluster_has_a_key_of_its_own(laptop: Laptop, checkout: Path, tmp_path: Path) -> None:
    config = checkout / ".github" / "flux-upgrade.yaml"
    config.write_text(config.read_text().replace("    token-auth: true\n", ""))
    folder, hosts = tmp_path / "secrets", tmp_path / "hosts"
    folder.mkdir(mode=0o700)
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPxN0Yr5BBcY2Tn6tIWHdGQ7q4LCrhGW5n2Rm0xAtTQd"
    hosts.write_text(f"gitea.example.com {key}\n")
    flags = (f"--secret-file={folder}", f"--known-hosts={hosts}", "--hostname=gitea.example.com", "--json")
    done = laptop.bootstrap(checkout, *flags).well()
    keys = [each["access"]["public-key"] for each in done.value["clusters"]]
    titles = [each["access"]["deploy-key"] for each in done.value["clusters"]]
    assert len(set(keys)) == len(set(titles)) == len(NAMES)
    assert [" ".join(secret_of(folder / f"{name}.yaml")["identity.pub"].split()[:2]) for name in NAMES] == keys


def test_a_kubeconfig_is_of_one_cluster(laptop: Laptop, checkout: Path, tmp_path: Path) -> None:
    laptop.bootstrap(checkout, f"--kubeconfig={tmp_path}/none").refused(UsageError, "--cluster")


WRONG = """\
bootstrap:
  provider: gitlub
  flags:
    repository: octo/fleet
    intervall: 5m
  clusters:
    staging:
      path: clusters/staging
      network-policy: maybe
    "bad name":
      path: x
"""


def test_all_that_is_wrong_in_the_file_with_its_lines(laptop: Laptop, checkout: Path) -> None:
    (checkout / ".github" / "flux-upgrade.yaml").write_text(WRONG)
    done = laptop.bootstrap(checkout).refused(InvalidConfig, "interval")
    for line, word in ((2, "gitlub"), (5, "intervall"), (9, "network-policy"), (10, "bad name")):
        assert any(f"{line}:" in each or f"line {line}" in each for each in done.err.splitlines() if word in each), (
            done.err
        )
    assert not (checkout / "clusters").exists()


BETWEEN = {
    "same-path": ("path: clusters/production-eu", "path: clusters/staging", "have the same path"),
    "inside": ("path: clusters/production-eu", "path: clusters/staging/eu", "overlap"),
    "branches": ("path: clusters/production-eu", "path: clusters/production-eu\n      branch: other", "--branch"),
    "components": (
        "path: clusters/production-eu",
        "path: clusters/production-eu\n      components: [helm-controller]",
        "required",
    ),
}


@pytest.mark.parametrize("case", BETWEEN)
def test_clusters_that_get_in_each_others_way(laptop: Laptop, checkout: Path, case: str) -> None:
    old, new, message = BETWEEN[case]
    config = checkout / ".github" / "flux-upgrade.yaml"
    config.write_text(config.read_text().replace(old, new))
    laptop.bootstrap(checkout).refused(UsageError, message)
    assert not (checkout / "clusters").exists()


def test_the_file_is_checked_and_the_other_commands_take_it(laptop: Laptop, checkout: Path) -> None:
    config = checkout / ".github" / "flux-upgrade.yaml"
    laptop.run("config", "check", config).well()
    laptop.bootstrap(checkout, "--version=v2.9.3").well()
    source = f"--release-source={laptop.source}"
    assert "v2.9.4" in laptop.run("plan", checkout, source).well().out
    laptop.run("upgrade", checkout, source).well()
    assert {each["version"] for each in laptop.bootstrap(checkout, "--json").well().value["clusters"]} == {"v2.9.4"}
