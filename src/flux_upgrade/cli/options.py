"""argv + environment → one frozen value. Nothing below reads either again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flux_upgrade.cli.flags import COMMANDS, PROGRAM, build_parser, parse
from flux_upgrade.cli.flags_shared import DEFAULT_SOURCE
from flux_upgrade.config.environment import (
    GitHub,
    RegistryAccess,
    Tokens,
    cache_dir_of,
    git_environment_of,
    github_of,
    registry_of,
    tokens_of,
)
from flux_upgrade.manifests.options import DEFAULT_COMPONENTS, InstallOptions, nearest
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.oci import SCHEME
from flux_upgrade.model.oci.reference import Address, parse_address
from flux_upgrade.model.values import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import NoReturn

    from flux_upgrade.bootstrap.request import BootstrapRequest
    from flux_upgrade.model.ports import Timing

_ANY_RELEASE = InstallOptions(version="")


class Settings(NamedTuple):
    """Everything that one run was asked for."""

    command: str
    release_source: str = DEFAULT_SOURCE
    """``github``, a folder, or an http(s) address."""
    ca_file: str = ""
    cache_dir: str = ""
    """Empty: no cache."""
    tokens: Tokens = Tokens()
    github: GitHub = GitHub()
    search_path: str = ""
    """``PATH``: where a ``flux`` binary is looked for."""
    home: str = ""
    git: Mapping[str, str] = {}
    """What Git and SSH read from the environment (``GIT_SSH_COMMAND`` …), and whose runner it is."""
    path: str = "."
    artifact: Address | None = None
    """The artifact that ``path`` is the address of."""
    registry: RegistryAccess = RegistryAccess()
    promote: str = ""
    """``tag`` or ``pull-request``; empty: what the tree says."""
    back_to: str = ""
    """The tag or digest that a rollback leads to; empty: what there was before."""
    options: InstallOptions = _ANY_RELEASE
    """``version`` empty: the newest stable release."""
    json: bool = False
    annotates: bool = False
    """Whether the run is a step of GitHub Actions, which shows findings on the lines that they are about."""
    to: str = ""
    running: tuple[str, ...] = ()
    """Releases that clusters run today, as they were given; empty: those that the repository installs."""
    dry_run: bool = False
    take_release: bool = False
    policy: str = ""
    range: str = ""
    approve: tuple[str, ...] = ()
    config: str = ""
    """A file that has to be there; empty: the usual one, should it be there."""
    flags: str = ""
    """Install flags that are to change, as ``config.reader.parse_flags`` reads them."""
    check_images: bool | None = None
    """Whether a registry other than Flux's own is asked for images; None: the config file says it."""
    migrate: str = ""
    """When manifests with removed API versions are moved, as ``config.Migrate``; empty: the file says it."""
    ladder: bool | None = None
    """Whether to go release by release where one step is not enough; None: the file says it."""
    scan: tuple[str, ...] = ()
    """Patterns of the files that are searched for what breaks; empty: the file says it."""
    kubernetes_version: str = ""
    """What the clusters run; empty: the file says it."""
    migrated: bool = False
    """Whether ``flux migrate`` ran in the clusters, at the release that they are at."""
    repository: str = ""
    base: str = ""
    pull_request: bool = False
    bootstrap: BootstrapRequest | None = None
    """Of the command ``bootstrap``."""
    timing: Timing | None = None
    """The clock to go by; None: the machine's."""

    def __repr__(self) -> str:
        """Without what may hold a secret."""
        return f"Settings({self.command})"


def parse_settings(argv: Sequence[str], env: Mapping[str, str]) -> Settings:
    """Raises UsageError for what cannot be used, SystemExit for --help and --version."""
    command = argv[0] if argv else ""
    if command not in COMMANDS:
        return _without_command(argv)
    args = parse(command, argv[1:])
    github = github_of(env)
    shared = Settings(
        command=command,
        release_source=getattr(args, "release_source", DEFAULT_SOURCE),
        ca_file=getattr(args, "ca_file", ""),
        cache_dir=cache_dir_of(env),
        tokens=tokens_of(env, github),
        github=github,
        search_path=env.get("PATH", ""),
        home=env.get("HOME", ""),
        registry=registry_of(env)._replace(docker_config=getattr(args, "docker_config", "")),
        git=git_environment_of(env),
    )
    if command == "bootstrap":
        return _bootstrap(shared, args, env)
    if command in ("check", "migrate"):
        return _apis(shared, args, env)
    return _for_command(shared, args)


def _without_command(argv: Sequence[str]) -> NoReturn:
    """--help and --version, or what is wrong."""
    hint = f"one of: {', '.join(COMMANDS)}; see `{PROGRAM} --help`"
    if not argv:
        raise UsageError("no command given", hint=hint)
    if not argv[0].startswith("-"):
        raise UsageError(f"there is no command '{argv[0]}'{nearest(argv[0], COMMANDS)}", hint=hint)
    build_parser().parse_args(list(argv))
    raise UsageError("the command comes first", hint=hint)


def _for_command(shared: Settings, args: Namespace) -> Settings:
    match shared.command:
        case "render":
            return shared._replace(options=_options(args))
        case "inspect":
            return _placed(shared, args)._replace(json=args.json)
        case "rollback":
            return _rollback(shared, args)
        case "plan":
            return _governed(shared, args)._replace(json=args.json)
        case "upgrade":
            return _governed(shared, args)._replace(
                to=tag(args.to), dry_run=args.dry_run, take_release=args.on_conflict == "take-release"
            )
        case _:
            return shared._replace(path=getattr(args, "path", shared.path))


def _apis(shared: Settings, args: Namespace, env: Mapping[str, str]) -> Settings:
    return shared._replace(
        path=args.path,
        json=args.json,
        to=tag(args.to),
        running=tuple(map(tag, args.running)),
        scan=tuple(args.scan),
        dry_run=getattr(args, "dry_run", True),
        annotates=env.get("GITHUB_ACTIONS") == "true",
    )


def _governed(shared: Settings, args: Namespace) -> Settings:
    placed = _placed(shared, args)
    return placed._replace(
        promote=_promotion(placed, args),
        policy=args.policy,
        range=args.range,
        approve=tuple(args.approve),
        config=args.config,
        flags=args.flags,
        check_images=args.check_images,
        migrate=args.migrate,
        ladder=args.ladder,
        scan=tuple(args.scan),
        kubernetes_version=args.kubernetes_version,
        migrated=args.migrated,
        repository=args.repository,
        base=args.base,
        pull_request=args.pull_request,
    )


def _bootstrap(shared: Settings, args: Namespace, env: Mapping[str, str]) -> Settings:
    from flux_upgrade.cli.bootstrap_flags import request_of

    wanted = request_of(vars(args), env)
    # With a Git repository as its source, --username is for that; the config file may say the source.
    is_oci = wanted.source == "oci" or (args.password_stdin and not wanted.source)
    username = str(wanted.flags.get("username", "")) if is_oci else ""
    return shared._replace(
        path=args.checkout,
        config=args.config,
        ca_file=str(wanted.flags.get("ca-file", "")),
        json=args.json,
        dry_run=args.dry_run,
        pull_request=args.pull_request,
        registry=shared.registry._replace(username=username, is_password_on_stdin=args.password_stdin),
        bootstrap=wanted,
    )


def _placed(shared: Settings, args: Namespace) -> Settings:
    """With what is looked at: a tree, or an artifact and its registry."""
    access = shared.registry._replace(
        username=args.username,
        is_password_on_stdin=args.password_stdin,
        plain_http=args.plain_http,
    )
    if access.is_password_on_stdin and not access.username:
        raise UsageError("--password-stdin is given without --username", hint="give both, or neither")
    if access.username and not (access.password or access.is_password_on_stdin):
        raise UsageError(
            "--username is given without a password",
            hint="give it with --password-stdin, or as FLUX_UPGRADE_REGISTRY_PASSWORD",
        )
    if not args.path.startswith(SCHEME):
        for flag, value in (("--plain-http", access.plain_http), ("--username", access.username)):
            if value:
                raise UsageError(
                    f"{flag} is about the registry of an artifact, and '{args.path}' is none",
                    hint="give the artifact as oci://HOST/REPOSITORY:TAG",
                )
        return shared._replace(path=args.path, registry=access)
    # The tree is the one around the working folder: it may say how the artifact is promoted.
    return shared._replace(artifact=parse_address(args.path), registry=access)


def _promotion(settings: Settings, args: Namespace) -> str:
    """Who asks for a pull request about an artifact asks for its promotion by one."""
    if settings.artifact is None or not args.pull_request:
        promote: str = args.promote
        return promote
    if args.promote == "tag":
        raise UsageError("--pull-request moves no tag, and --promote tag does", hint="give one of them")
    return "pull-request"


def _rollback(shared: Settings, args: Namespace) -> Settings:
    settings = _placed(shared, args)._replace(back_to=args.to, dry_run=args.dry_run)
    if settings.artifact is None or not settings.artifact.tag or settings.artifact.digest:
        raise UsageError(
            "what is rolled back is the tag of an artifact",
            hint="give it as oci://HOST/REPOSITORY:TAG; in Git, revert the commit",
        )
    return settings


def tag(version: str) -> str:
    """A version as Flux tags it: ``2.9.4`` is taken for ``v2.9.4``."""
    return f"v{version}" if version[:1].isdigit() else version


def _options(args: Namespace) -> InstallOptions:
    components = _flat(args.components) if args.components is not None else list(DEFAULT_COMPONENTS)
    return InstallOptions(
        version=tag(args.version),
        namespace=args.namespace,
        components=(*components, *_flat(args.components_extra)),
        registry=args.registry,
        image_pull_secret=args.image_pull_secret,
        watch_all_namespaces=args.watch_all_namespaces,
        network_policy=args.network_policy,
        log_level=args.log_level,
        cluster_domain=args.cluster_domain,
        toleration_keys=tuple(_flat(args.toleration_keys)),
    )


def _flat(lists: list[list[str]] | None) -> list[str]:
    return [item for each in lists or [] for item in each]
