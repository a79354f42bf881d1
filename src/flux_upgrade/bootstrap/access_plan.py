"""Which key and which Secrets there have to be, and what has to be done for it. Only looks."""

from __future__ import annotations

from collections.abc import Sequence

from flux_upgrade.bootstrap import options as names
from flux_upgrade.bootstrap import secrets
from flux_upgrade.bootstrap.access import AccessInputs, AccessPlan, AccessPorts, require_sound
from flux_upgrade.bootstrap.known_hosts import fingerprint, host_of, known_hosts, shown_key
from flux_upgrade.bootstrap.options import Auth, BootstrapOptions, Source
from flux_upgrade.bootstrap.secrets import SecretPlace
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.hosting import DeployKey, KeyPair, Secret
from flux_upgrade.model.values import NamedTuple


class _AccessState(NamedTuple):
    """What there is, and what of it may be replaced."""

    place: SecretPlace
    has_secret: bool  # Something was put at the place before, as far as a place that cannot be read tells
    keys: tuple[DeployKey, ...]
    has_api: bool
    rotate: bool


def plan_access(
    options: BootstrapOptions, given: AccessInputs, ports: AccessPorts, *, is_new_repository: bool = False
) -> AccessPlan:
    """Look, and decide; nothing is written. ``is_new_repository``: it is still to be created.

    Raises UsageError for what is missing or cannot be used, and what the ports raise.
    """
    require_sound(given)
    place, hosting = ports.place, ports.hosting
    if place is None:
        return AccessPlan(options)
    pull = secrets.pull_secret(options)
    more = given.more if pull is None else (pull, *given.more)
    is_unread = is_new_repository and not place.is_readable
    has_secret = not is_unread and place.has(options.secret_name, options.namespace)
    if options.auth is not Auth.SSH or options.source is Source.OCI:
        every = more if options.source is Source.OCI else (_credentials(options, given), *more)
        plan = AccessPlan(options, secrets=every, at_place=_names(every))
        return _without_key(plan, place, has_secret=has_secret, rotate=given.rotate)
    keys = () if hosting is None or is_new_repository else hosting.deploy_keys()
    published = hosting.host_keys() if hosting is not None and given.known_hosts is None else ()
    hosts = known_hosts(host_of(options.url), given.known_hosts, published)
    plan = AccessPlan(options, names.deploy_key_title(options), known_hosts=hosts, secrets=more)
    return _with_key(plan, given.key, _AccessState(place, has_secret, keys, hosting is not None, given.rotate))


def _without_key(plan: AccessPlan, place: SecretPlace, *, has_secret: bool, rotate: bool) -> AccessPlan:
    if place.is_readable:
        before = (plan.options.secret_name,) if has_secret else ()
        at_place = tuple(dict.fromkeys((*before, *plan.at_place)))
        return plan._replace(hands_over=_differs(place, plan.secrets), at_place=at_place)
    if has_secret and plan.secrets and not rotate:
        return plan._replace(notes=(_stays(place.where, plan.at_place),))
    return plan._replace(hands_over=bool(plan.secrets))


def _with_key(plan: AccessPlan, own: KeyPair | None, state: _AccessState) -> AccessPlan:
    """Which key, whether it was handed over, and which of the registered ones go. ``own``: the user's."""
    options, place = plan.options, state.place
    ours = tuple(each for each in state.keys if each.title == plan.title)
    key = own
    if key is None and not state.rotate:
        key = _key_at(place, options)
        is_unregistered = key is not None and all(each.public != key.public for each in state.keys)
        if place.is_cluster and ours and is_unregistered:
            # Somebody else has been at work: a person has to say which key is to be.
            raise UsageError(
                f"the key in {place.where} is not registered, and another key is registered as {plan.title}",
                hint="replace both with --rotate-key",
            )
        is_missing = (key is None or is_unregistered) if place.is_readable else not state.has_secret
        # A cluster tells by itself which key it has; elsewhere the registered ones may have another home.
        if ours and is_missing and not place.is_cluster:
            return _left_alone(plan, ours, place)
    is_settled = state.has_secret and len(ours) == 1 and not place.is_readable and not state.rotate
    settled = ours[0].public if is_settled else ""
    public = settled if key is None else key.public
    every = plan.secrets
    if key is not None:
        every = (secrets.ssh_secret(options, key, plan.known_hosts), *every)
    hands_over = not settled or settled != public
    if key is not None and place.is_readable:
        hands_over = _differs(place, every)
    same = tuple(each for each in state.keys if public and each.public == public)
    is_read_only = not options.read_write_key
    # One of another title may have more rights than are wanted.
    is_fit = any(each.is_read_only == is_read_only or (is_read_only and each.title != plan.title) for each in same)
    outdated = tuple(each for each in ours if each not in same)
    planned = plan._replace(
        key=key,
        public=public,
        makes_key=not public,
        hands_over=hands_over,
        registers=state.has_api and not is_fit,
        registers_first=hands_over and bool(ours),
        in_the_way=() if is_fit else same,
        outdated=outdated,
        at_place=(options.secret_name, *_names(plan.secrets)),
    )
    return planned._replace(notes=_notes(planned, state))


def _left_alone(plan: AccessPlan, ours: tuple[DeployKey, ...], place: SecretPlace) -> AccessPlan:
    """All stays as it is, but for Secrets that are not of the key, where they can stand alone."""
    every = plan.secrets if place.is_readable else ()
    dropped = () if place.is_readable else _names(plan.secrets)
    besides = f"; {_listed(dropped)} cannot be stored without it" if dropped else ""
    note = (
        f"{_keys(plan.title, ours)} kept: a cluster may use it, and its private key is unknown here{besides}; "
        "to replace it, use --rotate-key"
    )
    return plan._replace(
        public=ours[0].public if len(ours) == 1 else "",
        secrets=every,
        hands_over=_differs(place, every),
        at_place=_names(every),
        is_elsewhere=True,
        notes=(note,),
    )


def _notes(plan: AccessPlan, state: _AccessState) -> tuple[str, ...]:
    where, asked = state.place.where, state.rotate or plan.key is not None
    if state.place.is_cluster and plan.makes_key and plan.outdated and not asked:
        keys = _keys(plan.title, plan.outdated)
        note = (
            f"{where} has no key in the Secret {plan.options.secret_name}, so {keys} replaced with a new one; "
            "clusters with the old key need the new one"
        )
        return (note,)
    if state.place.is_readable or not state.has_secret:
        return ()
    if plan.hands_over:
        # Of a run that was broken off, or somebody else's.
        replaced = f"the Actions secret {where} existed before, and is replaced"
        return () if asked else (replaced,)
    return (_stays(where, _names(plan.secrets)),) if plan.secrets else ()


def _key_at(place: SecretPlace, options: BootstrapOptions) -> KeyPair | None:
    """The key that was handed over before, where it can be read."""
    there = place.present(options.secret_name, options.namespace)
    data = {} if there is None else there.string_data
    private, public = data.get(secrets.IDENTITY, ""), " ".join(data.get(secrets.PUBLIC, "").split()[:2])
    if not private:
        return None
    try:
        fingerprint(public)
    except ValueError:
        raise UsageError(
            f"the Secret {options.secret_name} in {place.where} has a private key without its public key",
            hint="add the public key as identity.pub (`ssh-keygen -y` prints it), or replace both with --rotate-key",
        ) from None
    return KeyPair(private, public, data.get(secrets.PASSWORD, ""))


def _credentials(options: BootstrapOptions, given: AccessInputs) -> Secret:
    if options.auth is Auth.APP:
        return secrets.app_secret(options, given.app, given.ca)
    if not given.token:
        raise UsageError(
            "the token with which Flux reads the repository is missing", hint="set FLUX_UPGRADE_SYNC_TOKEN"
        )
    return secrets.token_secret(options, given.token, given.ca)


def _differs(place: SecretPlace, wanted: tuple[Secret, ...]) -> bool:
    """Whether anything is to be put there; of what cannot be read back, always."""
    return any(place.present(each.name, each.namespace) != each for each in wanted)


def _names(every: tuple[Secret, ...]) -> tuple[str, ...]:
    return tuple(each.name for each in every)


def _stays(where: str, names: Sequence[str]) -> str:
    """Nobody can tell whether what is sealed is what would be sealed now."""
    return (
        f"the Actions secret {where} exists and is unchanged: GitHub does not show whether {_listed(names)} "
        f"{'is' if len(names) == 1 else 'are'} current in it; to replace it, use --rotate-key"
    )


def _keys(title: str, keys: Sequence[DeployKey]) -> str:
    shown = ", ".join(shown_key(each.public) for each in keys)
    noun, verb = ("the deploy key", "is") if len(keys) == 1 else (f"{len(keys)} deploy keys", "are")
    return f"{noun} {title} ({shown}) {verb}"


def _listed(names: Sequence[str]) -> str:
    noun = "the Secret" if len(names) == 1 else "the Secrets"
    return f"{noun} {', '.join(names)}"
