"""Which key and which Secrets there have to be, and what has to be done for it. Only looks."""

from __future__ import annotations

from flux_upgrade.bootstrap import names, secrets
from flux_upgrade.bootstrap.known_hosts import fingerprint, host_of, known_hosts
from flux_upgrade.bootstrap.options import Auth, BootstrapOptions, Source
from flux_upgrade.bootstrapping.access import AccessPlan, Given, Means
from flux_upgrade.bootstrapping.places import Place
from flux_upgrade.errors import UsageError
from flux_upgrade.hosting import AppCredentials, DeployKey, KeyPair, Secret


def plan_access(
    options: BootstrapOptions, given: Given, means: Means, *, is_new_repository: bool = False
) -> AccessPlan:
    """Look, and decide; nothing is written. ``is_new_repository``: it is still to be created.

    Raises UsageError for what is missing, and what the means raise.
    """
    place = means.place
    has_key = options.auth is Auth.SSH and options.source is Source.GIT
    title = names.deploy_key_title(options) if has_key else ""
    if place is None:
        return AccessPlan(options, title)
    more = (*filter(None, (secrets.pull_secret(options),)), *given.more)
    if has_key:
        keys = () if means.hosting is None or is_new_repository else means.hosting.deploy_keys()
        plan = AccessPlan(options, title, known_hosts=_known_hosts(options, given, means), secrets=more)
        return _with_key(plan, given, place, keys, has_api=means.hosting is not None)
    every = more if options.source is Source.OCI else (_credentials(options, given), *more)
    return AccessPlan(options, secrets=every, hands_over=_differs(place, every))


def _with_key(
    plan: AccessPlan, given: Given, place: Place, keys: tuple[DeployKey, ...], *, has_api: bool
) -> AccessPlan:
    """Which key, whether it was handed over, and which of the registered ones go."""
    ours = tuple(each for each in keys if each.title == plan.title)
    settled = ours[0].public if len(ours) == 1 and not place.is_readable and not given.rotate else ""
    key = given.key
    if key is None and not given.rotate:
        key = _key_at(place, plan.options)
    public = settled if key is None else key.public
    if key is not None and place.is_readable:
        hands_over = _differs(place, (secrets.ssh_secret(plan.options, key, plan.known_hosts), *plan.secrets))
    else:
        hands_over = not settled or settled != public
    same = tuple(each for each in keys if public and each.public == public)
    is_fit = any(_fits(each, plan) for each in same)
    outdated = tuple(each for each in ours if each not in same)
    return plan._replace(
        key=key,
        public=public,
        makes_key=not public,
        hands_over=hands_over,
        registers=has_api and not is_fit,
        registers_first=hands_over and bool(ours),
        in_the_way=() if is_fit else same,
        outdated=outdated,
    )


def _fits(key: DeployKey, plan: AccessPlan) -> bool:
    """Whether a key has the rights that are wanted; one of another title may have more of them."""
    is_read_only = not plan.options.read_write_key
    if key.title != plan.title and is_read_only:
        return True
    return key.is_read_only == is_read_only


def _key_at(place: Place, options: BootstrapOptions) -> KeyPair | None:
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
            f"the Secret {options.secret_name} in {place.where} has a private key, and not its public part",
            hint="put it there as identity.pub (`ssh-keygen -y` prints it), or take another by --rotate-key",
        ) from None
    return KeyPair(private, public, data.get(secrets.PASSWORD, ""))


def _known_hosts(options: BootstrapOptions, given: Given, means: Means) -> str:
    published: tuple[str, ...] = ()
    if given.known_hosts is None and means.hosting is not None:
        published = means.hosting.host_keys()
    return known_hosts(host_of(options.url), given.known_hosts, published)


def _credentials(options: BootstrapOptions, given: Given) -> Secret:
    """The Secret of a token or an App. Raises UsageError where it is missing."""
    if options.auth is Auth.APP:
        nobody = AppCredentials(options.app_id, "")
        return secrets.app_secret(options, given.app or nobody, given.ca)
    if not given.token:
        raise UsageError(
            "there is no token for Flux to read the repository with",
            hint="set FLUX_UPGRADE_SYNC_TOKEN",
        )
    return secrets.token_secret(options, given.token, given.ca)


def _differs(place: Place, wanted: tuple[Secret, ...]) -> bool:
    """Whether anything is to be put there; of what cannot be read back, always."""
    return any(place.present(each.name, each.namespace) != each for each in wanted)
