"""A bootstrap works with Flux's published manifests and with real Git repositories behind the source."""

from __future__ import annotations

from pathlib import Path

import pytest
from cluster_stand_in.sources import GitSources

from cluster import small_flux
from cluster.driving import Driven, desired
from cluster.memory_cluster import Polled
from flux_upgrade.bootstrap.cluster.install import bootstrap_cluster
from flux_upgrade.model.errors import NotReady
from flux_upgrade.model.hosting import Secret
from git_servers import PERSON, READ, Bare, HttpHost, SshHost, git
from real_parts import require_shared

URL = "https://git.example.com/fleet"


@pytest.mark.real_part("shared data")
def test_what_flux_published_is_taken(driven: Driven) -> None:
    """Each object of the release, with its schemas."""
    release = require_shared("conformance", "releases", "v2.9.4", "gotk-components.yaml")
    files = small_flux.files()
    files[f"{small_flux.FOLDER}/gotk-components.yaml"] = release.read_bytes()
    cluster = driven.connect()
    bootstrap_cluster(cluster, desired(files), driven.run(60))
    before = driven.everything()
    bootstrap_cluster(cluster, desired(files), driven.run(60))
    cluster.close()
    assert driven.everything() == before
    crds = driven.api.items("apis/apiextensions.k8s.io/v1/customresourcedefinitions")
    assert len([each for each in crds if each["metadata"]["name"].endswith("toolkit.fluxcd.io")]) > 8


def _repository(folder: Path) -> tuple[Bare, str]:
    """A repository with one commit, and that commit."""
    bare = Bare.make(folder / "fleet")
    work = folder / "work"
    git("init", "--quiet", "--initial-branch=main", work)
    for path, content in small_flux.files().items():
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        (work / path).write_bytes(content)
    git("add", ".", at=work)
    git("commit", "--quiet", "--message=Flux", at=work)
    git("push", "--quiet", str(bare.folder), "main", at=work)
    return bare, git("rev-parse", "HEAD", at=work)


def _desired(
    head: str, password: str, path: str = "./clusters/staging"
) -> tuple[Secret, dict[str, bytes], dict[str, str]]:
    sync = small_flux.git_sync(path)
    spec = sync[0]["spec"]
    assert isinstance(spec, dict)
    spec["url"] = URL
    secret = Secret("flux-system", "flux-system", {"username": "git", "password": password})
    return secret, small_flux.files(sync=sync), {"flux-system": f"main@sha1:{head}"}


def test_a_source_is_ready_when_its_secret_opens_the_repository(driven: Driven, tmp_path: Path) -> None:
    _, head = _repository(tmp_path)
    with HttpHost(tmp_path) as host:
        driven.controllers.look = GitSources(PERSON, {"https://git.example.com": host.url}).look
        cluster = driven.connect()
        secret, files, revisions = _desired(head, "wrong")
        wanted = desired(files, secrets=(secret,), revisions=revisions)
        with pytest.raises(NotReady, match="failed to checkout"):
            bootstrap_cluster(Polled(cluster), wanted, driven.run_until("failed to checkout"))
        secret, _, _ = _desired(head, READ)
        installed = bootstrap_cluster(cluster, wanted._replace(secrets=(secret,)), driven.run())
        cluster.close()
    assert [each.revision for each in installed] == [f"main@sha1:{head}"] * 2


def test_a_path_that_the_repository_does_not_have(stand_in: Driven, tmp_path: Path) -> None:
    _, head = _repository(tmp_path)
    with HttpHost(tmp_path) as host:
        stand_in.controllers.look = GitSources(PERSON, {"https://git.example.com": host.url}).look
        secret, files, revisions = _desired(head, READ, "./clusters/other")
        cluster = stand_in.connect()
        wanted = desired(files, secrets=(secret,), revisions=revisions)
        with pytest.raises(NotReady, match="kustomization path not found"):
            bootstrap_cluster(Polled(cluster), wanted, stand_in.run_until("path not found"))
        cluster.close()


def test_a_source_over_ssh_with_the_keys_of_its_secret(stand_in: Driven, tmp_path: Path) -> None:
    bare, head = _repository(tmp_path)
    keys = tmp_path / "ssh"
    with SshHost(keys) as host:
        stand_in.controllers.look = GitSources(PERSON, {URL: host.url(bare.folder)}).look
        cluster = stand_in.connect()
        _, files, revisions = _desired(head, "")
        data = {"identity": (keys / "stranger").read_text(), "known_hosts": (keys / "known_hosts").read_text()}
        secret = Secret("flux-system", "flux-system", data)
        wanted = desired(files, secrets=(secret,), revisions=revisions)
        with pytest.raises(NotReady, match="Permission denied"):
            bootstrap_cluster(Polled(cluster), wanted, stand_in.run_until("Permission denied"))
        reader = secret._replace(string_data={**data, "identity": (keys / "reader").read_text()})
        bootstrap_cluster(cluster, wanted._replace(secrets=(reader,)), stand_in.run())
        cluster.close()
