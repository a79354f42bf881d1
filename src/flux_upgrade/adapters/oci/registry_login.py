"""Logging in to a registry, when it asks for that: challenges, tokens, Basic.

The OCI Distribution Specification leaves that to Docker's "Token Authentication" (a 401 names a realm,
a service and a scope; a GET with Basic gives a token) and its "OAuth2 token" (a POST, for those who
have an identity token), and to RFC 7617 where the challenge is Basic.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar
from urllib.parse import urlencode

from flux_upgrade.adapters.http import origins
from flux_upgrade.adapters.http.client import Client, RequestOptions, Response
from flux_upgrade.adapters.oci.registry_credentials import CredentialSource, RegistryCredential
from flux_upgrade.model.errors import ForbiddenByRegistry, SourceUnavailable
from flux_upgrade.model.text import json_of, one_line

REFUSALS = tuple(range(400, 500))
"""Statuses that say no; a rate limit is none of them (see ``RequestOptions.accept_status``)."""

_UNAUTHORIZED = 401
_DENIED = (401, 403)
_FOUND, _REFUSED = 200, (400, 401, 403)
_NO_SUCH_METHOD = (404, 405)
_PULL, _PUSH = "pull", "pull,push"
_PARAMETER = re.compile(r'([A-Za-z_]+)=(?:"([^"]*)"|([^\s",]+))')
_BASIC = re.compile(r"(?:^|,)\s*basic\b", re.IGNORECASE)
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
ANONYMOUS = (
    "check the name, and make the repository public because flux-upgrade has no password for it; "
    "or use a public registry, such as ghcr.io/fluxcd"
)
LOG_IN = "run `docker login`, and set --docker-config if its config file is not the default"
_Outcome = TypeVar("_Outcome")


class RegistryLogin:
    """What one repository of a registry may know of us; tokens are kept, those to push with apart."""

    def __init__(
        self, client: Client, base: str, path: str, credentials: CredentialSource | None = None, remedy: str = ANONYMOUS
    ) -> None:
        """``base``: ``https://ghcr.io``. ``remedy``: what to do where credentials are missing.

        Without ``credentials`` it asks as nobody, and a refusal is a plain SourceUnavailable.
        """
        self._client = client
        self._base = base
        self._host = base.partition("://")[2].partition("/")[0]
        self._path = path
        self._credentials = credentials
        self._remedy = remedy
        self._credential: RegistryCredential | None = None
        self._authorization: dict[str, str] = {}
        self._lock = threading.Lock()

    def ask(self, send: Callable[[Mapping[str, str]], _Outcome], *, writes: bool = False) -> _Outcome:
        """What ``send`` comes to, given the headers to send with; once more where it meets a challenge.

        A 401 or 403 is returned where there is nothing else to try. Raises SourceUnavailable,
        ForbiddenByRegistry, UsageError.
        """
        actions = _PUSH if writes else _PULL
        used = self._authorization.get(actions, "")
        outcome = send({"Authorization": used} if used else {})
        if not isinstance(outcome, Response) or outcome.status != _UNAUTHORIZED:
            return outcome
        # A host that was redirected to, or that an upload goes to, gets no credentials.
        if origins.origin(outcome.url) != origins.origin(self._base):
            return outcome
        with self._lock:
            # Another thread may have been faster.
            if self._authorization.get(actions, "") == used:
                self._authorization[actions] = self._authorized(outcome, actions, used)
        return send({"Authorization": self._authorization[actions]})

    def check(self, response: Response, *, writes: bool = False) -> None:
        """Raise SourceUnavailable, or ForbiddenByRegistry, for a response that says that we may not."""
        if response.status not in _DENIED:
            return
        is_basic = self._authorization.get(_PUSH if writes else _PULL, "").startswith("Basic ")
        if response.status == _UNAUTHORIZED and is_basic:
            raise self._wrong_credentials(response)
        raise self._denied(response, _PUSH if writes else _PULL)

    def reason(self, response: Response) -> str:
        """What a registry says went wrong, in one line and with a colon before it; empty if nothing."""
        words = _words(response.body)
        secrets = [header.partition(" ")[2] for header in self._authorization.values()]
        secrets += () if self._credential is None else self._credential.secrets
        if not words or any(secret in words for secret in secrets):
            return ""
        return f": {one_line(words)}"

    def _authorized(self, response: Response, actions: str, used: str) -> str:
        header = response.headers.get("www-authenticate", "")
        if self._credential is None and self._credentials is not None:
            self._credential = self._credentials.credential(self._host, self._path)
        challenge = bearer_challenge(header)
        if challenge is not None:
            return f"Bearer {self._token(response, challenge, actions)}"
        basic = "" if self._credential is None else self._credential.basic
        if not basic or _BASIC.search(header) is None:
            raise self._denied(response, actions)
        if basic == used:
            raise self._wrong_credentials(response)
        return basic

    def _token(self, response: Response, challenge: Mapping[str, str], actions: str) -> str:
        realm = challenge.get("realm", "")
        if not self._may_hear(realm):
            raise self._denied(response, actions)
        # ghcr.io asks for a scope to pull where one to push is needed.
        needed = f"repository:{self._path}:{actions}"
        asked = needed if actions == _PUSH else challenge.get("scope", needed)
        parameters = {"service": challenge.get("service", ""), "scope": asked}
        given = self._given(realm, {key: value for key, value in parameters.items() if value})
        if given.status not in (*_REFUSED, _FOUND):
            raise SourceUnavailable(
                f"{origins.host(realm)} returned status {given.status} to a token request{self.reason(given)}",
                hint=f"check the configuration of {origins.host(self._base)}, which requests tokens there",
            )
        if not given.is_found:
            raise self._wrong_credentials(given) if self._credential else self._denied(given, actions)
        answer = _object(given.body)
        token = answer.get("token") or answer.get("access_token")
        if not isinstance(token, str) or not token.isascii() or not token.isprintable():
            raise self._denied(given, actions)
        return token

    def _given(self, realm: str, parameters: Mapping[str, str]) -> Response:
        credential, host = self._credential, origins.host(self._base)
        options = RequestOptions(accept_status=REFUSALS, charged_to=host)
        if credential is not None and credential.identity_token:
            form = {
                "grant_type": "refresh_token",
                "client_id": "flux-upgrade",
                **parameters,
                "refresh_token": credential.identity_token,
            }
            headers = {"Content-Type": "application/x-www-form-urlencoded"}
            exchange = RequestOptions(headers, accept_status=REFUSALS, charged_to=host)
            given = self._client.query(realm, urlencode(form).encode(), exchange)
            # A service that does not know the POST may still take the password, where there is one.
            if given.status not in _NO_SUCH_METHOD or not credential.password:
                return given
        if credential is not None and credential.password:
            options = replace(options, headers={"Authorization": credential.basic})
        url = f"{realm}{'&' if '?' in realm else '?'}{urlencode(parameters)}"
        return self._client.get(url, options)

    def _may_hear(self, realm: str) -> bool:
        """Whether credentials may go there: by https, or to the very host that is asked by plain http.

        Raises SourceUnavailable for an address that two parsers could read in two ways.
        """
        if not realm.lower().startswith(("https://", "http://")):
            return False
        if odd := origins.oddity(realm):
            raise origins.not_followed(self._base, "gives tokens at", f"an address with {odd}")
        try:
            there, here = origins.origin(realm), origins.origin(self._base)
        except ValueError:
            return False
        if there.scheme == "https" or not there.scheme == here.scheme == "http":
            return there.scheme == "https"
        return there.host == here.host or {there.host, here.host} <= {*_LOOPBACK}

    def _wrong_credentials(self, response: Response) -> ForbiddenByRegistry:
        source = "" if self._credential is None else self._credential.source
        return ForbiddenByRegistry(
            f"{origins.host(self._base)} rejects the credentials{self.reason(response)}",
            hint=f"check the credentials of {source}, and whether they have expired",
        )

    def _denied(self, response: Response, actions: str) -> SourceUnavailable:
        host, reason = origins.host(self._base), self.reason(response)
        deed = "push to" if actions == _PUSH else "pull from"
        if self._credential is not None:
            return ForbiddenByRegistry(
                f"the credentials for {host} do not allow you to {deed} {self._path}{reason}",
                hint=f"give the user of {self._credential.source} this permission, or use other credentials",
            )
        if self._credentials is None:
            return SourceUnavailable(f"{host} gives no anonymous access to {self._path}{reason}", hint=self._remedy)
        message = f"{host} requires credentials to {deed} {self._path}{reason}"
        return ForbiddenByRegistry(message, hint=self._remedy)


def bearer_challenge(header: str) -> dict[str, str] | None:
    """The parameters of the Bearer challenge in ``WWW-Authenticate``; None where there is none."""
    start = header.lower().find("bearer ")
    if start < 0:
        return None
    return {key.lower(): quoted or bare for key, quoted, bare in _PARAMETER.findall(header[start:])}


def _words(body: bytes) -> str:
    """``CODE: message`` of each error (OCI Distribution Specification, "Error Codes"), or what is like it."""
    answer = _object(body)
    errors = answer.get("errors")
    messages = []
    for error in errors if isinstance(errors, list) else ():
        parts = (error.get("code"), error.get("message")) if isinstance(error, dict) else ()
        messages.append(": ".join(part for part in parts if isinstance(part, str) and part))
    others = (answer.get(key) for key in ("details", "error_description"))
    messages += [text for text in others if isinstance(text, str)]
    return "; ".join(filter(None, messages))


def _object(body: bytes) -> dict[str, object]:
    found = json_of(body)
    return found if isinstance(found, dict) else {}
