"""Flux's access to its repository: key or token, and the Secrets that hold it.

A private key is known only while it is handed over, so that the order of the steps decides what
an interruption leaves behind:

- What replaces another key is registered, then handed over, and only then the other one goes: the
  key that a cluster has is registered until there is another one for it.
- A first key is handed over before it is registered. Where it can be read back, the next run registers
  the one that it finds; elsewhere one registered key of our title and a secret of the name say that it
  was handed over, and two keys say that one was to replace the other.
- A key of our title that is registered, and whose private part is not at the place, may be the one that a
  cluster has: it stays, and nothing is put beside it, unless another one was asked for.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable

from flux_upgrade.bootstrap import secrets
from flux_upgrade.bootstrap.options import BootstrapOptions
from flux_upgrade.bootstrap.secrets import SecretPlace
from flux_upgrade.manifests.options import refuse
from flux_upgrade.model.hosting import AppCredentials, DeployKey, Hosting, KeyPair, Secret
from flux_upgrade.model.values import NamedTuple

_PEM = re.compile(
    r"-----BEGIN (?P<kind>(?:RSA )?PRIVATE KEY)-----\s+(?P<body>[A-Za-z0-9+/=\s]+)-----END (?P=kind)-----"
)
"""What source-controller reads: PKCS #1 or #8, not encrypted. Source: golang-jwt, ``rsa_utils.go``."""


class AccessInputs(NamedTuple):
    """What the user gave, read from files and the environment."""

    key: KeyPair | None = None
    known_hosts: str | None = None
    token: str = ""
    app: AppCredentials | None = None
    ca: str = ""
    more: tuple[Secret, ...] = ()  # To be handed over along with it: for a registry of artifacts, say
    rotate: bool = False

    def __repr__(self) -> str:
        return "Given()"  # without what is secret


def require_sound(given: AccessInputs) -> None:
    """Raises UsageError with all that cannot be used."""
    problems, hints = [], []
    if not given.token.isprintable() or " " in given.token:
        problems.append("the token for Flux contains a space, a line break or another invalid character")
        hints.append("set FLUX_UPGRADE_SYNC_TOKEN to only the token")
    key = given.app.private_key if given.app is not None else ""
    if key and not _is_pem(key):
        problems.append("the private key of the GitHub App is not in PEM format, or is encrypted")
        hints.append(
            "use the file that GitHub created, with its line breaks: --app-private-key or FLUX_UPGRADE_APP_PRIVATE_KEY"
        )
    refuse(problems, "; ".join(hints))


def _is_pem(text: str) -> bool:
    found = _PEM.fullmatch(text.strip())
    try:
        return found is not None and bool(b64decode("".join(found["body"].split()), validate=True))
    except ValueError:
        return False


class AccessPorts(NamedTuple):
    hosting: Hosting | None  # None: a provider whose API is not spoken; a person registers keys there
    place: SecretPlace | None
    generate: Callable[[], KeyPair]


class AccessPlan(NamedTuple):
    """What there will be, and what has to be done for it. The private parts are shown nowhere."""

    options: BootstrapOptions
    title: str = ""  # The deploy key's; empty: there is none to be had
    key: KeyPair | None = None  # Known already; None: it will be made, or nobody needs it
    public: str = ""  # Of the key that is to be registered; empty: it will be made
    makes_key: bool = False
    known_hosts: str = ""
    registers: bool = False
    registers_first: bool = False  # Before the Secrets are handed over
    in_the_way: tuple[DeployKey, ...] = ()  # The same key with other rights: no provider takes one twice
    outdated: tuple[DeployKey, ...] = ()
    secrets: tuple[Secret, ...] = ()  # To be handed over, less the one that the key is for
    hands_over: bool = False
    at_place: tuple[str, ...] = ()
    """Names of the Secrets that are at the place once this is done, from before or from now."""
    is_elsewhere: bool = False
    """A key of our title is registered, and its private part is not at the place: it stays as it is."""
    notes: tuple[str, ...] = ()  # What a person should know, a sentence each, without a stop

    def __repr__(self) -> str:
        return f"AccessPlan({self.title})"  # without what is secret


class Access(NamedTuple):
    """What came of a plan: facts, nothing of it secret."""

    title: str = ""
    public: str = ""  # The deploy key; empty: there is none, or a person makes it
    is_read_only: bool = True
    is_new_key: bool = False
    is_registered: bool = False
    registered: bool = False
    removed: tuple[DeployKey, ...] = ()
    where: str = ""  # The place of the Secrets; empty: none was chosen
    handed_over: tuple[str, ...] = ()
    """Names of the Secrets that were put there now; none where they were as they should be."""
    at_place: tuple[str, ...] = ()  # Names of all that are there, as far as that can be known
    has_source: bool = False  # The one that Flux gets at its source with is among them
    is_elsewhere: bool = False  # As in `AccessPlan`: the key is `public`, if it is one
    notes: tuple[str, ...] = ()


def carry_out(plan: AccessPlan, ports: AccessPorts) -> Access:
    """Make it so. Raises what the ports raise; run again, it goes on from there."""
    if ports.place is None:
        return Access()
    key = ports.generate() if plan.makes_key else plan.key
    public = plan.public if key is None else key.public
    every = plan.secrets
    if key is not None:
        every = (secrets.ssh_secret(plan.options, key, plan.known_hosts), *every)
    if plan.hands_over and not plan.registers_first:
        ports.place.put(every)
    if ports.hosting is not None and plan.registers:
        for same in plan.in_the_way:
            ports.hosting.remove_deploy_key(same)
        wanted = DeployKey(plan.title, public, is_read_only=not plan.options.read_write_key)
        ports.hosting.add_deploy_key(wanted)
    if plan.hands_over and plan.registers_first:
        ports.place.put(every)
    if not ports.place.is_cluster:
        retire(plan, ports)
    done = foresee(plan, ports)
    return done._replace(public=public, is_registered=bool(public) and ports.hosting is not None)


def retire(plan: AccessPlan, ports: AccessPorts) -> None:
    """Remove the keys that were replaced. Of a cluster, once it has what takes their place."""
    for old in plan.outdated:
        if ports.hosting is not None:
            ports.hosting.remove_deploy_key(old)


def foresee(plan: AccessPlan, ports: AccessPorts) -> Access:
    """What ``carry_out`` would come to: no key is made, and nothing is written.

    ``registered``, ``removed`` and ``handed_over`` are what would be; ``is_registered`` is what is.
    """
    if ports.place is None:
        return Access()
    names = tuple(each.name for each in plan.secrets)
    if plan.makes_key or plan.key is not None:
        names = (plan.options.secret_name, *names)
    return Access(
        plan.title,
        plan.public,
        is_read_only=not plan.options.read_write_key,
        is_new_key=plan.makes_key,
        is_registered=bool(plan.public) and ports.hosting is not None and not plan.registers,
        registered=plan.registers and ports.hosting is not None,
        removed=(*plan.in_the_way, *plan.outdated),
        where=ports.place.where,
        handed_over=names if plan.hands_over else (),
        at_place=plan.at_place,
        has_source=plan.options.secret_name in plan.at_place,
        is_elsewhere=plan.is_elsewhere,
        notes=plan.notes,
    )
