"""argv + environment → one frozen value for the command. Nothing below reads either again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flux_upgrade.cli.flags import COMMANDS, PROGRAM, build_parser, parse
from flux_upgrade.config.environment import Environment, RegistryAccess, environment_of
from flux_upgrade.manifests.options import DEFAULT_COMPONENTS, InstallOptions, nearest
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.oci import SCHEME
from flux_upgrade.model.oci.reference import Address, parse_address
from flux_upgrade.model.values import NamedTuple
from flux_upgrade.model.versions import Version, is_tag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import NoReturn

    from flux_upgrade.bootstrap.request import BootstrapRequest
    from flux_upgrade.model.ports import Timing
    from flux_upgrade.planning.plan import UpgradeRequest


class RenderOptions(NamedTuple):
    """Of ``render``."""

    release_source: str
    """``github``, a folder, or an http(s) or oci address."""
    install: InstallOptions
    """``version`` empty: the newest stable release."""


class InspectOptions(NamedTuple):
    """Of ``inspect``."""

    path: str
    artifact: Address | None
    """The artifact that was named instead of a path; ``path`` is the working folder then."""
    release_source: str
    json: bool


class UpgradeOptions(NamedTuple):
    """Of ``upgrade``, and of ``plan``, which is an upgrade that writes nothing."""

    path: str
    artifact: Address | None
    """As ``InspectOptions`` has it."""
    release_source: str
    config: str
    """A file that has to be there; empty: the usual one, should it be there."""
    governing: Mapping[str, object]
    """Keys of the config file that were given as flags, as they were given."""
    request: UpgradeRequest
    repository: str
    """``owner/name`` or an address; empty: the checkout's remote says it."""
    pull_request: bool
    promote: str
    """``tag`` or ``pull-request``; empty: what the tree says."""
    json: bool = False

    @property
    def address(self) -> Address:
        """``artifact``, in a run about one."""
        assert self.artifact is not None  # noqa: S101 the caller has seen to it
        return self.artifact


class ApiUsesOptions(NamedTuple):
    """Of ``check``, and of ``migrate``."""

    path: str
    release_source: str
    to: str
    """A tag; empty: the newest stable release."""
    running: tuple[str, ...]
    """Releases that clusters run today; empty: those that the repository installs."""
    governing: Mapping[str, object]
    """As ``UpgradeOptions`` has it."""
    json: bool
    is_dry: bool
    annotates: bool
    """Whether the run is a step of GitHub Actions, which shows findings on the lines that they are about."""


class RollbackOptions(NamedTuple):
    """Of ``rollback``."""

    artifact: Address
    to: str
    """A tag or a digest; empty: what there was before."""
    is_dry: bool


class BootstrapCommand(NamedTuple):
    """Of ``bootstrap``."""

    checkout: str
    config: str
    """As ``UpgradeOptions`` has it."""
    release_source: str
    request: BootstrapRequest
    repository: str = ""
    """``owner/name`` on the GitHub that the environment names; empty: the checkout's remote says it."""


class ConfigOptions(NamedTuple):
    """Of ``config check``."""

    path: str


Options = (
    RenderOptions
    | InspectOptions
    | UpgradeOptions
    | ApiUsesOptions
    | RollbackOptions
    | BootstrapCommand
    | ConfigOptions
)


class Invocation(NamedTuple):
    """One command line with its environment."""

    command: str
    options: Options | None
    """None: of ``action``, which has inputs instead."""
    environment: Environment
    secrets: tuple[str, ...] = ()
    """Values of flags that are to be masked wherever something is printed."""

    def __repr__(self) -> str:
        """Without what may hold a secret."""
        return f"Invocation({self.command})"


def parse_command(argv: Sequence[str], env: Mapping[str, str], timing: Timing | None = None) -> Invocation:
    """Raises UsageError for what cannot be used, SystemExit for --help and --version."""
    command = argv[0] if argv else ""
    if command not in COMMANDS:
        return _without_command(argv)
    args = parse(command, argv[1:])
    environment = environment_of(env)._replace(timing=timing, ca_file=getattr(args, "ca_file", ""))
    if hasattr(args, "docker_config"):
        registry = environment.registry._replace(docker_config=args.docker_config)
        environment = environment._replace(registry=registry)
    options: Options | None = None
    match command:
        case "render":
            options = RenderOptions(args.release_source, _install(args))
        case "inspect":
            environment = _with_registry(environment, args)
            options = InspectOptions(*_location(args), args.release_source, args.json)
        case "plan" | "upgrade":
            environment = _with_registry(environment, args)
            options = _upgrade(args, writes=command == "upgrade" and not args.dry_run)
        case "check" | "migrate":
            options = _api_uses(args, annotates=env.get("GITHUB_ACTIONS") == "true")
        case "rollback":
            environment = _with_registry(environment, args)
            options = _rollback(args)
        case "bootstrap":
            return _bootstrap(environment, args, env)
        case "config":
            options = ConfigOptions(args.path)
    return Invocation(command, options, environment)


def _without_command(argv: Sequence[str]) -> NoReturn:
    """--help and --version, or what is wrong."""
    hint = f"one of: {', '.join(COMMANDS)}; see `{PROGRAM} --help`"
    if not argv:
        raise UsageError("no command given", hint=hint)
    if not argv[0].startswith("-"):
        raise UsageError(f"there is no command '{argv[0]}'{nearest(argv[0], COMMANDS)}", hint=hint)
    build_parser().parse_args(list(argv))
    raise UsageError("the command comes first", hint=hint)


def _install(args: Namespace) -> InstallOptions:
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


def _upgrade(args: Namespace, *, writes: bool) -> UpgradeOptions:
    from flux_upgrade.planning.plan import UpgradeRequest

    path, artifact = _location(args)
    given = vars(args)
    request = UpgradeRequest(
        to=Version(tag(given.get("to", ""))),
        approve=tuple(map(_approval, args.approve)),
        base=args.base,
        writes=writes,
        migrated=args.migrated,
    )
    return UpgradeOptions(
        path=path,
        artifact=artifact,
        release_source=args.release_source,
        config=args.config,
        governing=_governing(args),
        request=request,
        repository=args.repository,
        pull_request=args.pull_request,
        promote=_promotion(args, artifact),
        json=given.get("json", False),
    )


def _governing(args: Namespace) -> Mapping[str, object]:
    from flux_upgrade.config.keys import GOVERNING

    given = {key.name: getattr(args, key.flag_name, None) for key in GOVERNING}
    return {name: value for name, value in given.items() if value not in (None, "", [])}


def _approval(text: str) -> str:
    """``2.9``, or a tag. Raises UsageError."""
    plain = text.strip().removeprefix("v")
    if is_tag(f"v{plain}"):
        return f"v{plain}"
    if is_tag(f"v{plain}.0"):
        return plain
    raise UsageError(
        f"--approve '{text}' is neither a minor nor a version",
        hint="approve a minor with its later patches (2.9), or one version alone (v2.9.4)",
    )


def _api_uses(args: Namespace, *, annotates: bool) -> ApiUsesOptions:
    return ApiUsesOptions(
        path=args.path,
        release_source=args.release_source,
        to=tag(args.to),
        running=tuple(map(tag, args.running)),
        governing=_governing(args),
        json=args.json,
        is_dry=getattr(args, "dry_run", True),
        annotates=annotates,
    )


def _bootstrap(environment: Environment, args: Namespace, env: Mapping[str, str]) -> Invocation:
    from flux_upgrade.cli.bootstrap_flags import request_of

    wanted = request_of(vars(args), env)
    # With a Git repository as its source, --username is for that; the config file may say the source.
    is_oci = wanted.source == "oci" or (args.password_stdin and not wanted.source)
    username = str(wanted.flags.get("username", "")) if is_oci else ""
    registry = environment.registry._replace(username=username, is_password_on_stdin=args.password_stdin)
    return Invocation(
        "bootstrap",
        BootstrapCommand(args.checkout, args.config, args.release_source, wanted),
        environment._replace(ca_file=str(wanted.flags.get("ca-file", "")), registry=registry),
        wanted.secret_values(),
    )


def _location(args: Namespace) -> tuple[str, Address | None]:
    """A path, or an artifact. The tree of an artifact is the one around the working folder."""
    return (".", parse_address(args.path)) if args.path.startswith(SCHEME) else (args.path, None)


def _with_registry(environment: Environment, args: Namespace) -> Environment:
    """With how the registry of the artifact is reached. Raises UsageError."""
    access: RegistryAccess = environment.registry._replace(
        username=args.username, is_password_on_stdin=args.password_stdin, plain_http=args.plain_http
    )
    if access.is_password_on_stdin and not access.username:
        raise UsageError("--password-stdin is given without --username", hint="give both, or neither")
    if access.username and not (access.password or access.is_password_on_stdin):
        raise UsageError(
            "--username is given without a password",
            hint="give it with --password-stdin, or as FLUX_UPGRADE_REGISTRY_PASSWORD",
        )
    artifact = _location(args)[1]
    if artifact is not None:
        access = access._replace(host=artifact.host)
    else:
        for flag, value in (("--plain-http", access.plain_http), ("--username", access.username)):
            if value:
                raise UsageError(
                    f"{flag} is about the registry of an artifact, and '{args.path}' is none",
                    hint="give the artifact as oci://HOST/REPOSITORY:TAG",
                )
    return environment._replace(registry=access)


def _promotion(args: Namespace, artifact: Address | None) -> str:
    """Who asks for a pull request about an artifact asks for its promotion by one."""
    if artifact is None or not args.pull_request:
        promote: str = args.promote
        return promote
    if args.promote == "tag":
        raise UsageError("--pull-request moves no tag, and --promote tag does", hint="give one of them")
    return "pull-request"


def _rollback(args: Namespace) -> RollbackOptions:
    artifact = _location(args)[1]
    if artifact is None or not artifact.tag or artifact.digest:
        raise UsageError(
            "what is rolled back is the tag of an artifact",
            hint="give it as oci://HOST/REPOSITORY:TAG; in Git, revert the commit",
        )
    return RollbackOptions(artifact, args.to, args.dry_run)


def tag(version: str) -> str:
    """A version as Flux tags it: ``2.9.4`` is taken for ``v2.9.4``."""
    return f"v{version}" if version[:1].isdigit() else version


def _flat(lists: list[list[str]] | None) -> list[str]:
    return [item for each in lists or [] for item in each]
