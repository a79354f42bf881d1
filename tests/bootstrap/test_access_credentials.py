"""Keys and tokens that cannot work are refused before anything is written, and are not shown."""

from __future__ import annotations

import pytest

from bootstrap.arranged import OTHERS, PEM, arrange
from bootstrap.registered_keys import RegisteredKeys
from flux_upgrade.bootstrap.access import AccessInputs, require_sound
from flux_upgrade.bootstrap.options import Auth
from flux_upgrade.bootstrap.secrets import ActionsSecret
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.hosting import AppCredentials

KEYS = {
    "a path": "/home/ann/app.pem",
    "a public key": PEM.replace("RSA PRIVATE", "PUBLIC"),
    "cut off": PEM[:40],
    "in one line with backslashes": PEM.replace("\n", "\\n"),
    "no base64": PEM.replace("b25l", "b2=l"),
    "encrypted": PEM.replace("RSA PRIVATE", "ENCRYPTED PRIVATE"),
    "encrypted the old way": PEM.replace("b25l", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nb25l"),
    "of SSH": PEM.replace("RSA PRIVATE", "OPENSSH PRIVATE"),
}
TOKENS = {"a blank": "t0 ken", "a line break": "t0\nken", "a tab": "t0\tken", "a control": "t0\x07ken"}


@pytest.mark.parametrize("key", KEYS)
def test_keys_of_apps_that_are_none(key: str) -> None:
    github = RegisteredKeys(list(OTHERS))
    given = AccessInputs(app=AppCredentials("12", KEYS[key], "7"))
    with pytest.raises(UsageError, match="GitHub App is not in PEM format") as raised:
        arrange(github, ActionsSecret(github, "FLUX"), given, auth=Auth.APP, app_id="12")
    assert github.writes == []
    assert "--app-private-key" in raised.value.hint
    assert KEYS[key] not in str(raised.value) + raised.value.hint


@pytest.mark.parametrize("token", TOKENS)
def test_tokens_that_are_none(token: str) -> None:
    github = RegisteredKeys(list(OTHERS))
    with pytest.raises(UsageError, match="the token for Flux") as raised:
        arrange(github, ActionsSecret(github, "FLUX"), AccessInputs(token=TOKENS[token]), auth=Auth.TOKEN)
    assert github.writes == []
    assert "ken" not in raised.value.message.replace("token", "")


def test_all_problems_are_reported_at_once() -> None:
    with pytest.raises(UsageError, match=r"token for Flux.*; the private key of the GitHub App"):
        require_sound(AccessInputs(token="t 0", app=AppCredentials("12", "x", "7")))


@pytest.mark.parametrize("key", [PEM, PEM.replace("RSA ", ""), PEM.replace("\n", "\r\n"), PEM.strip(), f"\n{PEM}\n"])
def test_keys_that_are_some(key: str) -> None:
    require_sound(AccessInputs(token="ghp_ok", app=AppCredentials("12", key, "7")))
