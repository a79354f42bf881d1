"""The command in a bootstrap's pull request is one that the program takes, and makes the same bootstrap."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest

from bootstrap.proposed_bootstraps import Case, case, cluster, names
from flux_upgrade.bootstrap.addresses import url_of
from flux_upgrade.bootstrap.options import BootstrapOptions, Provider
from flux_upgrade.bootstrap.proposed import ProposedCluster
from flux_upgrade.bootstrap.request import BootstrapCluster, BootstrapRequest, clusters_of
from flux_upgrade.bootstrap.todo import at_once, left_to_do
from flux_upgrade.config.config import BootstrapConfig
from parsed_options import bootstrap_command

URL = "oci://registry.example.com/flux:production"
OCI: dict[str, Any] = {"source": "oci", "commands": ["kubectl apply"], "flags": {"url": URL}}
ARTIFACTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "credentials": {"username": "me", "registry": "registry.example.com/fluxcd", "secret-name": "pull"},
    "files": {"kustomization": "k.yaml", "ca-file": "ca.pem"},
    "the-cluster's-own": {"cluster-url": "oci://registry.example.com/fleet:main", "cluster-path": "a"},
    "a-cloud": {"oci-provider": "aws", "interval": "5m"},
    "http": {"allow-insecure-http": True, "force": True},
}
_BLOCK = re.compile(r"^(`{3,})bash\n(.*?)^\1$", re.MULTILINE | re.DOTALL)


def words_of(each: ProposedCluster) -> list[str]:
    (found,) = _BLOCK.finditer(at_once(each))
    program, *words = shlex.split(found[2].replace("\u200b", "").replace("\\\n", ""))
    assert program == "flux-upgrade"
    return words


def asked_of(words: list[str]) -> BootstrapRequest:
    env = {"HOME": "/home/me", "FLUX_UPGRADE_APP_PRIVATE_KEY": ""}
    command, *flags = words
    assert command == "bootstrap"
    return bootstrap_command(*flags, env=env).request


def again(each: ProposedCluster) -> BootstrapOptions:
    asked = asked_of(words_of(each))
    assert asked.kubernetes.kubeconfig
    (only,) = clusters_of(asked, None, {})
    return only.options


def comparable(options: BootstrapOptions) -> BootstrapOptions:
    """Without what is of commits and repositories that are made, which there are by then."""
    options = options._replace(commit_message_appendix="", author_name="", author_email="", teams=())
    options = options._replace(private_key_file="", ca_file="", visibility="private")
    if options.oci is not None:
        oci = options.oci._replace(kustomization=options.oci.kustomization and "FILE")
        return options._replace(provider=Provider.GIT, oci=oci)
    return options if options.provider is Provider.GIT else options._replace(url="")


@pytest.fixture(scope="module", params=names())
def written(request: pytest.FixtureRequest) -> Case:
    return case(request.param)


def test_the_program_takes_it_and_makes_the_same(written: Case) -> None:
    for each in written.proposal.clusters[:3]:
        assert comparable(again(each))._asdict() == comparable(each.options)._asdict()


@pytest.mark.parametrize("name", ARTIFACTS)
def test_that_of_an_artifact_is_taken_too(name: str) -> None:
    each = cluster({**OCI, "flags": {**ARTIFACTS[name], "url": URL}})
    options = again(each)
    assert comparable(options)._asdict() == comparable(each.options)._asdict()
    assert bool(options.ca_file) == bool(each.options.ca_file)


CONFIG = BootstrapConfig(
    flags={"repository": "acme/fleet", "log-level": "debug", "token-auth": True},
    clusters=(("staging", {"path": "a"}), ("production", {"path": "b", "network-policy": False})),
)


def proposed(one: BootstrapCluster) -> ProposedCluster:
    url = one.options.url if one.options.oci is not None else url_of(one.options)
    made, options = cluster(path="x"), one.options._replace(url=url)
    return made._replace(name=one.name, options=options, configured=one.configured)


@pytest.mark.parametrize(
    ("words", "config", "known"),
    [
        ([], CONFIG, {}),
        (["--log-level=info", "--components-extra=image-reflector-controller"], CONFIG, {}),
        (["--flags=network-policy: true"], CONFIG, {}),
        (["--provider=gitlab", "--hostname=gitlab.example.com"], CONFIG, {}),
        ([], CONFIG, {"provider": "github", "hostname": "ghes.example.com"}),
        (["--interval=5m"], BootstrapConfig(flags={"repository": "acme/fleet", "path": "a"}), {}),
        (["--source=oci", "--username=me"], BootstrapConfig(flags={"url": URL}), {}),
    ],
)
def test_a_cluster_of_the_config_file_is_named_to_it(
    words: list[str], config: BootstrapConfig, known: dict[str, str]
) -> None:
    for one in clusters_of(asked_of(["bootstrap", *words]), config, known):
        words_given = words_of(proposed(one))
        assert (f"--cluster={one.name}" in words_given) == bool(one.name)
        asked = asked_of(words_given)
        (same,) = clusters_of(asked, config, known)
        assert same.options == one.options
        assert asked.names_github == (known.get("hostname") == "ghes.example.com")


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        ({}, "It accesses the repository with the token in `GITHUB_TOKEN`.\n"),
        ({"flags": {"token-auth": True}}, "`GITHUB_TOKEN`. It gives Flux the token in `FLUX_UPGRADE_SYNC_TOKEN`.\n"),
        ({"provider": "gitlab"}, "or the token in `GITLAB_TOKEN`. It creates an SSH key"),
        ({"provider": "gitlab", "flags": {"private-key-file": "k"}}, "or the token in `GITLAB_TOKEN`.\n"),
        ({"flags": {"image-pull-secret": "s", "registry-creds": "u:hush"}}, "Create the Secret for the images first."),
        (OCI, "of `docker login`. It gives the cluster the credentials in `FLUX_UPGRADE_CLUSTER_USERNAME` and"),
        ({**OCI, "flags": {"url": URL, "oci-provider": "aws"}}, "It pushes with the credentials of `docker login`.\n"),
    ],
)  # fmt: skip
def test_it_is_said_what_it_needs(stated: dict[str, Any], words: str) -> None:
    assert words in at_once(cluster(stated))
    assert "hush" not in at_once(cluster(stated))


def test_the_steps_fit_how_the_files_got_there() -> None:
    new = cluster(path="clusters/staging")
    changed = cluster({"changed": ["gotk-sync.yaml"]}, path="clusters/staging")
    ways = {
        "Merge this pull request. Then apply": {},
        "Commit and push the files. Then apply": {"is_local": True},
        "Apply the files": {"on_branch": True},
    }
    for begin, way in ways.items():
        steps = left_to_do(new, "acme/fleet", **way)
        assert any(each.startswith(begin) for each in steps)
        assert ("merging" in at_once(new, **way)) == (not way)
    assert left_to_do(changed, "") == ["Merge this pull request. Flux then applies the change."]
    assert left_to_do(changed, "", is_local=True) == ["Commit and push the files. Flux then applies the change."]
    assert left_to_do(changed, "", on_branch=True) == []
    assert "It also pushes the files to `main`." in at_once(new, is_local=True)
