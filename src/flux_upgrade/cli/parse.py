"""argv + environment → one frozen value for the command. Nothing below reads either again."""

from __future__ import annotations

from itertools import pairwise

from flux_upgrade.cli import flags
from flux_upgrade.cli.flag_kinds import boolean, boolean_text
from flux_upgrade.cli.options import (
    ApiUsesOptions,
    BootstrapCommand,
    FleetOptions,
    InspectOptions,
    Invocation,
    Options,
    OutputOptions,
    RenderOptions,
    ReportForm,
    RollbackOptions,
    UpgradeOptions,
)
from flux_upgrade.cli.parser import Parser
from flux_upgrade.config.environment import Environment, RegistryAccess, environment_of
from flux_upgrade.manifests.options import DEFAULT_COMPONENTS, InstallOptions
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.oci import SCHEME
from flux_upgrade.model.oci.reference import Address, parse_address
from flux_upgrade.model.timing import LostTime
from flux_upgrade.model.versions import Version, is_tag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping, Sequence
    from typing import NoReturn

    from flux_upgrade.model.timing import Timing

PROGRAM = "flux-upgrade"


def build_parser() -> Parser:
    """All commands at once, for the reference and for --help."""
    from flux_upgrade.cli.overview import Overview

    parser = Overview(prog=PROGRAM)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=Parser)
    for name, (declare_all, meaning) in COMMANDS.items():
        command = commands.add_parser(name, help=meaning)
        declare_all(command)
        command.declare_help()
    return parser


def parse(command: str, words: Sequence[str]) -> Namespace:
    """The flags of one command, whose parser alone is built. Raises UsageError, SystemExit for --help."""
    parser = Parser(prog=f"{PROGRAM} {command}")
    COMMANDS[command][0](parser)
    parser.declare_help()
    actions = parser._actions  # noqa: SLF001 argparse offers no other way to its flags
    booleans = {word for each in actions if each.type in (boolean, boolean_text) for word in each.option_strings}
    for word, following in pairwise(words):
        # ``--multi-step false`` would say true of the flag, and name a folder ``false``.
        if word in booleans and following in ("true", "false"):
            raise UsageError(
                f"{word} takes its value after an equals sign: did you mean '{word}={following}'?",
                hint=f"write ./{following} for a file or directory of that name",
            )
    # A boolean by itself is true, as Flux reads its own; its value never is the next word.
    given = [f"{word}=true" if word in booleans else word for word in words]
    args, unknown = parser.parse_known_args(given)
    if unknown:
        known = [flag for action in actions for flag in action.option_strings]
        # The value of a flag that is misspelt may be a password.
        name = unknown[0].partition("=")[0]
        from flux_upgrade.cli.intents import FLAGS, meant

        raise UsageError(f"unknown argument '{name}'{meant(name, FLAGS, known)}", hint=f"see `{parser.prog} --help`")
    return args


def _declare_bootstrap(parser: Parser) -> None:
    from flux_upgrade.cli.bootstrap_flags import declare_bootstrap

    declare_bootstrap(parser)


COMMANDS = {
    "plan": (flags.declare_plan, "Show what an upgrade would change, and why"),
    "upgrade": (flags.declare_upgrade, "Upgrade Flux in a checkout, or by pull request"),
    "migrate": (flags.declare_migrate, "Migrate manifests from API versions that Flux no longer serves"),
    "inspect": (flags.declare_inspect, "Show installed Flux versions, flags and manual edits"),
    "check": (flags.declare_check, "Find manifests on API versions that Flux no longer serves"),
    "fleet": (flags.declare_fleet, "Show many repositories on one page, from their reports"),
    "bootstrap": (_declare_bootstrap, "Set up Flux in a repository"),
    "config": (flags.declare_config, "Check the config file, and explain its settings"),
    "render": (flags.declare_render, "Print the manifests that `flux install --export` prints"),
    "rollback": (flags.declare_rollback, "Move an OCI tag back to its previous digest"),
    "completion": (flags.declare_completion, "Print a completion script for bash, zsh or fish"),
    "action": (flags.declare_action, "Run as the GitHub Action"),
}
"""Command → its flags, and a line of help."""


def parse_command(argv: Sequence[str], env: Mapping[str, str], timing: Timing | None = None) -> Invocation:
    """Raises UsageError for what cannot be used, SystemExit for --help and --version."""
    command = argv[0] if argv else ""
    if command not in COMMANDS:
        return _without_command(argv)
    args = parse(command, argv[1:])
    environment = environment_of(env)
    registry = environment.registry._replace(docker_config=getattr(args, "docker_config", ""))
    registry = _of_artifact(registry, args) if hasattr(args, "plain_http") else registry
    environment = environment._replace(timing=timing, lost=LostTime(), registry=registry)
    environment = environment._replace(ca_file=getattr(args, "ca_file", ""))
    environment = _of_flags(environment, args)
    options: Options | None = None
    match command:
        case "render":
            options = RenderOptions(args.release_source, _install(args))
        case "inspect":
            options = InspectOptions(*_location(args), args.release_source, args.json, args.graph)
        case "plan" | "upgrade":
            options = _upgrade(args, writes=command == "upgrade" and not args.dry_run)
        case "check" | "migrate":
            options = _api_uses(args, is_step=env.get("GITHUB_ACTIONS") == "true")
        case "rollback":
            options = _rollback(args)
        case "bootstrap":
            return _bootstrap(environment, args, env)
        case "fleet":
            options = _fleet(args)
        case "config" | "completion":
            options = str(args.path if command == "config" else args.shell)
    return Invocation(command, options, environment)


def _of_flags(environment: Environment, args: Namespace) -> Environment:
    """With what the flags of the command say of the hosts and the config file that the run may use."""
    given = vars(args)
    repository, base = given.get("repository", ""), given.get("base", "")
    return environment._replace(
        allow_hosts=tuple(given.get("allow_hosts", ())),
        repository=repository if isinstance(repository, str) else "",  # `fleet` has many
        trusted_branches=(*environment.trusted_branches, *filter(None, (base,))),
        trusts_config=given.get("trust_config", False),
    )


def _without_command(argv: Sequence[str]) -> NoReturn:
    hint = f"use one of {', '.join(COMMANDS)}; see `{PROGRAM} --help`"
    if not argv:
        # As kubectl and flux do: whoever types the name alone wants to know what it can do, and made no mistake.
        argv = ["--help"]
    if not argv[0].startswith("-"):
        from flux_upgrade.cli import intents

        close = intents.meant(argv[0], intents.COMMANDS, (*COMMANDS, "--help", "--version"))
        raise UsageError(f"there is no command '{argv[0]}'{close}", hint=hint)
    build_parser().parse_args(list(argv))
    raise UsageError("the command comes first", hint=hint)


def _install(args: Namespace) -> InstallOptions:
    components = _flat(args.components) if args.components is not None else list(DEFAULT_COMPONENTS)
    return InstallOptions(*(getattr(args, name) for name in InstallOptions._fields))._replace(
        version=tag(args.version),
        components=(*components, *_flat(args.components_extra)),
        toleration_keys=tuple(_flat(args.toleration_keys)),
    )


def _upgrade(args: Namespace, *, writes: bool) -> UpgradeOptions:
    from flux_upgrade.planning.plan import UpgradeRequest

    path, artifact = _location(args)
    given, promote = vars(args), args.promote
    # Who asks for a pull request about an artifact asks for its promotion by one.
    if artifact is not None and args.pull_request:
        if promote == "tag":
            raise UsageError("--pull-request moves no tag, and --promote tag does", hint="give one of them")
        promote = "pull-request"
    if args.pull_request and args.accept_breaks:
        raise UsageError("--accept-breaks works only in a checkout", hint="tick the box in the pull request")
    request = UpgradeRequest(
        to=Version(tag(given.get("to", ""))),
        approve=tuple(_approval(each) for text in args.approve for each in text.split(",")),
        base=args.base,
        writes=writes,
        migrated=args.flux_migrate_done,
        accept_breaks=args.accept_breaks,
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
        promote=promote,
        json=given.get("json", False),
        output=OutputOptions(
            args.details, given.get("diff", False), args.quiet, args.verbose, args.color, not args.no_pager
        ),
    )


def _governing(args: Namespace) -> Mapping[str, object]:
    from flux_upgrade.config.keys import GOVERNING

    given = vars(args)
    return {
        key.name: value for key in GOVERNING if (value := given.get(key.name.replace("-", "_"))) not in (None, "", [])
    }


def _approval(text: str) -> str:
    """``2.9``, or a tag, with the name of a group or cluster before it: ``staging=2.9``. Raises UsageError.

    Either may end in ``+migrated``.
    """
    from flux_upgrade.planning.approvals import MIGRATED

    name, separator, version = text.strip().rpartition("=")
    suffix = MIGRATED if version.strip().endswith(MIGRATED) else ""
    plain = version.strip().removeprefix("v").removesuffix(MIGRATED)
    place = f"{name.strip()}=" if name.strip() else ""
    if is_tag(f"v{plain}") and bool(place) is bool(separator):
        return f"{place}v{plain}{suffix}"
    if is_tag(f"v{plain}.0") and bool(place) is bool(separator):
        return f"{place}{plain}{suffix}"
    raise UsageError(
        f"--approve '{text}' is neither a minor nor a version",
        hint="approve a minor with its later patches (2.9) or one version (v2.9.4), or name a cluster (staging=2.9)",
    )


def _api_uses(args: Namespace, *, is_step: bool) -> ApiUsesOptions:
    """``is_step``: of GitHub Actions."""
    asked = getattr(args, "format", "")
    if asked and args.json:
        raise UsageError("--json and --format cannot be combined", hint="use --format=json")
    return ApiUsesOptions(
        path=args.path,
        release_source=args.release_source,
        to=tag(args.to),
        running=tuple(map(tag, args.running)),
        governing=_governing(args),
        form=ReportForm(asked or ("json" if args.json else "text")),
        is_dry=getattr(args, "dry_run", True),
        annotates=asked == ReportForm.GITHUB if asked else is_step,
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
        environment._replace(
            ca_file=str(wanted.flags.get("ca-file", "")),
            registry=registry,
            trusted_branches=(*environment.trusted_branches, *filter(None, (str(wanted.flags.get("branch", "")),))),
        ),
        wanted.secret_values(),
    )


def _location(args: Namespace) -> tuple[str, Address | None]:
    """A path, or an artifact. The tree of an artifact is the one around the working folder."""
    return (".", parse_address(args.path)) if args.path.startswith(SCHEME) else (args.path, None)


def _of_artifact(registry: RegistryAccess, args: Namespace) -> RegistryAccess:
    """With how the registry of the artifact is reached. Raises UsageError."""
    access = registry._replace(
        username=args.username, is_password_on_stdin=args.password_stdin, plain_http=args.plain_http
    )
    if access.is_password_on_stdin and not access.username:
        raise UsageError("--password-stdin is given without --username", hint="give both, or neither")
    if access.username and not (access.password or access.is_password_on_stdin):
        raise UsageError(
            "--username is given without a password", hint="add --password-stdin, or set FLUX_UPGRADE_REGISTRY_PASSWORD"
        )
    artifact = _location(args)[1]
    if artifact is not None:
        return access._replace(host=artifact.host)
    if access.plain_http or access.username:
        raise UsageError(
            f"{'--plain-http' if access.plain_http else '--username'} needs an artifact, but '{args.path}' is not one",
            hint="use oci://HOST/REPOSITORY:TAG",
        )
    return access


def _rollback(args: Namespace) -> RollbackOptions:
    artifact = _location(args)[1]
    if artifact is None or not artifact.tag or artifact.digest:
        raise UsageError(
            "rollback needs the tag of an artifact", hint="use oci://HOST/REPOSITORY:TAG; in Git, revert the commit"
        )
    return RollbackOptions(artifact, args.to, args.dry_run, args.accept_breaks)


def _fleet(args: Namespace) -> FleetOptions:
    if not (args.reports or args.repository or args.repositories):
        raise UsageError("no report is given", hint="set files or directories with reports, or --repository")
    if args.max_age < 1:
        raise UsageError("--max-age must be at least 1", hint="set a number of days, such as --max-age=7")
    repositories = tuple(each for text in args.repository for each in text.split(",") if each)
    expected = tuple(each for text in args.expect for each in text.split(",") if each)
    return FleetOptions(
        tuple(args.reports),
        repositories,
        args.repositories,
        args.artifact,
        expected,
        args.max_age,
        args.html,
        args.json,
    )


def tag(version: str) -> str:
    """A version as Flux tags it: ``2.9.4`` is taken for ``v2.9.4``."""
    return f"v{version}" if version[:1].isdigit() else version


def _flat(lists: list[list[str]] | None) -> list[str]:
    return [item for each in lists or [] for item in each]
