"""Secrets have the names and keys that Flux looks for, and any value in them is read back."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from flux_upgrade.bootstrap import options as names
from flux_upgrade.bootstrap import secrets
from flux_upgrade.bootstrap.options import Auth, BootstrapOptions, Provider
from flux_upgrade.manifests.options import InstallOptions
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.hosting import AppCredentials, KeyPair, Secret
from flux_upgrade.model.kubernetes_objects import manifest, parse

KEY = KeyPair("-----BEGIN\nprivate-part\n", "ssh-ed25519 AAAA")
INSTALL = InstallOptions("v2.9.4", registry="ghcr.io/own", image_pull_secret="pull")


def options(**more: Any) -> BootstrapOptions:
    plain = BootstrapOptions(Provider.GITHUB, Auth.SSH, INSTALL, url="ssh://git@github.com/fleet/infra")
    return plain._replace(**more)


@pytest.mark.parametrize(
    ("more", "title"),
    [
        ({}, "flux-system-main-flux-system"),
        ({"path": "clusters/staging"}, "flux-system-main-flux-system-./clusters/staging"),
        ({"path": "./clusters//staging/"}, "flux-system-main-flux-system-./clusters/staging"),
        ({"path": "."}, "flux-system-main-flux-system-./"),
        ({"path": "../up"}, "flux-system-main-flux-system-./up"),
        ({"branch": "live", "secret_name": "own"}, "flux-system-live-own"),
        ({"branch": ""}, "flux-system-flux-system"),
        ({"install": INSTALL._replace(namespace="gitops")}, "gitops-main-flux-system"),
    ],
)
def test_a_deploy_key_is_titled_as_flux_does(more: dict[str, Any], title: str) -> None:
    assert names.deploy_key_title(options(**more)) == title


def test_names_for_one_of_many_clusters() -> None:
    assert names.actions_secret_name("Flux", "eu-1.prod") == "FLUX_EU_1_PROD"
    assert names.actions_secret_name("Flux") == "FLUX"
    assert names.secret_file_name("/safe/", "eu-1") == "/safe/eu-1.yaml"
    assert names.secret_file_name("/safe/one.yaml") == "/safe/one.yaml"


@pytest.mark.parametrize("name", ["", "1FLUX", "FLUX-1", "github_flux", "GITHUB_", "F" * 256, "ü"])
def test_names_that_github_does_not_take(name: str) -> None:
    assert names.actions_secret_problem(name)
    assert not names.actions_secret_problem("FLUX_1")


def test_the_secret_of_a_key() -> None:
    secret = secrets.ssh_secret(options(secret_name="own"), KEY, "github.com ssh-rsa A\ngithub.com b B")
    assert (secret.name, secret.namespace, secret.type) == ("own", "flux-system", "Opaque")
    assert secret.string_data == {
        "identity": "-----BEGIN\nprivate-part\n",
        "identity.pub": "ssh-ed25519 AAAA\n",
        "known_hosts": "github.com ssh-rsa A\ngithub.com b B\n",
    }
    locked = secrets.ssh_secret(options(), KEY._replace(passphrase=" open sesame "), "h k K\n")
    assert locked.string_data["password"] == " open sesame "


@pytest.mark.parametrize(
    ("more", "ca", "data"),
    [
        ({}, "", {"username": "git", "password": "t0ken"}),
        ({"username": "ann"}, "PEM", {"username": "ann", "password": "t0ken", "ca.crt": "PEM"}),
        ({"with_bearer_token": True}, "", {"bearerToken": "t0ken"}),
    ],
)
def test_the_secret_of_a_token(more: dict[str, Any], ca: str, data: dict[str, str]) -> None:
    assert secrets.token_secret(options(**more), "t0ken", ca).string_data == data


@pytest.mark.parametrize(
    ("more", "data"),
    [
        ({"installation_id": "7"}, {"githubAppInstallationID": "7"}),
        ({"installation_owner": "fleet"}, {"githubAppInstallationOwner": "fleet"}),
        (
            {"installation_id": "7", "base_url": "https://ghe.example.com/api/v3"},
            {"githubAppInstallationID": "7", "githubAppBaseURL": "https://ghe.example.com/api/v3"},
        ),
    ],
)
def test_the_secret_of_an_app(more: dict[str, str], data: dict[str, str]) -> None:
    found = secrets.app_secret(options(), AppCredentials("12", "PEM", **more)).string_data
    assert found == {"githubAppID": "12", "githubAppPrivateKey": "PEM\n", **data}


@pytest.mark.parametrize("app", [AppCredentials("12", "", "7"), None])
def test_an_app_whose_credentials_are_incomplete(app: AppCredentials | None) -> None:
    with pytest.raises(UsageError) as raised:
        secrets.app_secret(options(), app)
    assert "--app-" in raised.value.hint


def test_the_secret_for_images() -> None:
    assert secrets.pull_secret(options()) is None
    secret = secrets.pull_secret(options(registry_creds="ann:s3cret"))
    assert secret is not None
    assert (secret.name, secret.type) == ("pull", "kubernetes.io/dockerconfigjson")
    auth = {"username": "ann", "password": "s3cret", "auth": "YW5uOnMzY3JldA=="}
    assert json.loads(secret.string_data[".dockerconfigjson"]) == {"auths": {"ghcr.io/own": auth}}


def test_the_manifest_is_what_kubectl_takes() -> None:
    secret = secrets.ssh_secret(options(), KEY, "github.com ssh-ed25519 A\n")
    assert manifest((secret,)) == (
        "---\napiVersion: v1\nkind: Secret\nmetadata:\n"
        '  name: "flux-system"\n  namespace: "flux-system"\ntype: Opaque\nstringData:\n'
        '  "identity": "-----BEGIN\\nprivate-part\\n"\n'
        '  "identity.pub": "ssh-ed25519 AAAA\\n"\n'
        '  "known_hosts": "github.com ssh-ed25519 A\\n"\n'
    )
    # kubernetes/apimachinery pkg/util/validation: IsConfigMapKey
    assert all(re.fullmatch(r"[-._a-zA-Z0-9]+", name) for name in secret.string_data)


@given(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8")))
def test_any_value_is_read_again(first: str, second: str) -> None:
    both = (
        Secret("a", "b", {"x": first, "y": second}),
        Secret("c", "b", {".dockerconfigjson": second}, "kubernetes.io/dockerconfigjson"),
    )
    text = manifest(both)
    assert parse(text) == both
    assert text.isascii()
    for loader in (yaml.SafeLoader, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        loaded = list(yaml.load_all(text, Loader=loader))
        assert [each["stringData"] for each in loaded] == [each.string_data for each in both]


def test_nothing_is_shown() -> None:
    hidden = "private-part"
    app = AppCredentials("12", hidden, "7")
    shown = (
        KEY,
        secrets.ssh_secret(options(), KEY, "h k K"),
        app,
        secrets.app_secret(options(), app),
        options(registry_creds=hidden),
    )
    assert not [each for each in shown if hidden in repr(each) or hidden in str(each)]
