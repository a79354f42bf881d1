"""argv + environment → one frozen value. Nothing below reads either again."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from flux_upgrade import __version__
from flux_upgrade.errors import UsageError
from flux_upgrade.manifests.options import COMPONENTS, DEFAULT_COMPONENTS, LOG_LEVELS, InstallOptions, nearest
from flux_upgrade.values import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

DEFAULT_SOURCE = "github"
_PROGRAM = "flux-upgrade"
_BOOLEANS = ("--watch-all-namespaces", "--network-policy")
_TRUE = ("1", "t", "T", "TRUE", "true", "True")
_FALSE = ("0", "f", "F", "FALSE", "false", "False")


_ANY_RELEASE = InstallOptions(version="")


class Settings(NamedTuple):
    """Everything that one run was asked for."""

    command: str
    release_source: str
    """``github``, a folder, or an http(s) address."""
    cache_dir: str
    """Empty: no cache."""
    token: str
    """For the GitHub API alone; empty: anonymous."""
    search_path: str
    """``PATH``: where a ``flux`` binary is looked for."""
    home: str
    path: str = "."
    options: InstallOptions = _ANY_RELEASE
    """``version`` empty: the newest stable release."""
    json: bool = False
    to: str = ""
    dry_run: bool = False
    take_release: bool = False

    def __repr__(self) -> str:
        """Without the token."""
        return f"Settings({self.command})"


class _Parser(argparse.ArgumentParser):
    """argparse, with the nearest flag named and errors raised instead of printed."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=f"see `{self.prog} --help`")


def _boolean(text: str) -> bool:
    """As Go's ``strconv.ParseBool``, which reads Flux's own flags."""
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    raise argparse.ArgumentTypeError(f"'{text}' is neither true nor false")


def _list(text: str) -> list[str]:
    return text.split(",") if text else []


def build_parser() -> argparse.ArgumentParser:
    """Every command with every flag: the one source of the reference in the docs."""
    parser = _Parser(prog=_PROGRAM, description="Keep Flux current, and lose nothing.", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"{_PROGRAM} {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=_Parser)
    for name, (declare, told) in _COMMANDS.items():
        declare(commands.add_parser(name, help=told, allow_abbrev=False))
    return parser


def _source(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--release-source",
        default=DEFAULT_SOURCE,
        metavar="SOURCE",
        help="where Flux's releases come from: github (the default), a folder, or an http(s) address "
        "laid out as <tag>/<asset> with a releases.json",
    )


def _render(parser: argparse.ArgumentParser) -> None:
    plain = _ANY_RELEASE
    extra = [name for name in COMPONENTS if name not in DEFAULT_COMPONENTS]
    parser.description = "Print the bytes that `flux install --export` of that Flux version prints."
    _source(parser)

    def flag(*names: str, told: str, default: str = "", metavar: str | None = None) -> None:
        shown = f"{told} (default: {default})" if default else told
        parser.add_argument(*names, default=default, metavar=metavar, help=shown)

    def listed(name: str, told: str) -> None:
        parser.add_argument(
            name, type=_list, action="append", metavar="LIST", help=f"{told}; comma-separated, repeatable"
        )

    flag("-v", "--version", told="Flux version, like v2.9.4; without it the newest stable release")
    flag("-n", "--namespace", told="where Flux is installed", default=plain.namespace)
    listed("--components", f"the controllers, in this order (default: {','.join(DEFAULT_COMPONENTS)})")
    listed("--components-extra", f"controllers in addition to these, of {', '.join(extra)}")
    flag("--registry", told="where the controllers' images are", default=plain.registry)
    flag("--image-pull-secret", told="name of the Secret for a private registry", metavar="NAME")
    for name, told in (
        ("--watch-all-namespaces", "false: watch the namespace of Flux alone"),
        ("--network-policy", "false: no NetworkPolicy objects"),
    ):
        parser.add_argument(name, type=_boolean, default=True, metavar="BOOL", help=f"{told} (default: true)")
    flag("--log-level", told=f"one of {', '.join(LOG_LEVELS)}", default=plain.log_level)
    flag("--cluster-domain", told="the cluster's internal DNS domain", default=plain.cluster_domain)
    listed("--toleration-keys", "keys of the taints that the controllers tolerate")


def _path(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path", nargs="?", default=".", metavar="PATH", help="a file or a folder (default: .)"
    )


def _inspect(parser: argparse.ArgumentParser) -> None:
    parser.description = "Find every Flux installation and say what is really there, with the proof."
    _path(parser)
    _source(parser)
    parser.add_argument("--json", action="store_true", help="as JSON, see docs/reference/inspect.schema.json")


def _upgrade(parser: argparse.ArgumentParser) -> None:
    parser.description = "Rewrite every gotk-components.yaml for another release, flags and edits kept."
    _path(parser)
    _source(parser)
    parser.add_argument("--to", default="", metavar="VERSION", help="Flux version (default: newest stable)")
    parser.add_argument("--dry-run", action="store_true", help="show the report and the diff, write nothing")
    parser.add_argument(
        "--on-conflict",
        choices=("hold", "take-release"),
        default="hold",
        help="what to do where the release changed what was edited by hand (default: hold)",
    )


_COMMANDS = {
    "render": (_render, "print what `flux install --export` prints"),
    "inspect": (_inspect, "say what every installation really is"),
    "upgrade": (_upgrade, "upgrade every installation in a tree"),
}


def parse_settings(argv: Sequence[str], env: Mapping[str, str]) -> Settings:
    """Raises UsageError for what cannot be used, SystemExit for --help and --version."""
    command = argv[0] if argv else ""
    if command not in _COMMANDS:
        return _without_command(argv)
    # The parser of the one command alone: to declare the flags of all costs time.
    parser = _Parser(prog=f"{_PROGRAM} {command}", allow_abbrev=False)
    _COMMANDS[command][0](parser)
    # A boolean by itself is true, as Flux reads its own; its value never is the next word.
    given = [f"{word}=true" if word in _BOOLEANS else word for word in argv[1:]]
    asked, unknown = parser.parse_known_args(given)
    if unknown:
        flags = [flag for action in parser._actions for flag in action.option_strings]  # noqa: SLF001 no other way
        raise UsageError(
            f"unknown argument '{unknown[0]}'{nearest(unknown[0].partition('=')[0], flags)}",
            hint=f"see `{parser.prog} --help`",
        )
    home = env.get("HOME", "")
    asked_cache = env.get("XDG_CACHE_HOME", "")
    # The XDG specification has relative paths ignored.
    base = asked_cache if asked_cache.startswith("/") else f"{home}/.cache" if home else ""
    shared = Settings(
        command=command,
        release_source=asked.release_source,
        cache_dir=f"{base}/flux-upgrade" if base else "",
        token=token_of(env),
        search_path=env.get("PATH", ""),
        home=home,
    )
    return _for_command(shared, asked)


def _without_command(argv: Sequence[str]) -> NoReturn:
    """--help and --version, or what is wrong."""
    hint = f"one of: {', '.join(_COMMANDS)}; see `{_PROGRAM} --help`"
    if not argv:
        raise UsageError("no command given", hint=hint)
    if not argv[0].startswith("-"):
        raise UsageError(f"there is no command '{argv[0]}'{nearest(argv[0], _COMMANDS)}", hint=hint)
    build_parser().parse_args(list(argv))
    raise UsageError("the command comes first", hint=hint)


def token_of(env: Mapping[str, str]) -> str:
    """The token for GitHub's API; empty where there is none."""
    return (env.get("GITHUB_TOKEN", "") or env.get("GH_TOKEN", "")).strip()


def _for_command(shared: Settings, asked: argparse.Namespace) -> Settings:
    match shared.command:
        case "render":
            return shared._replace(options=_options(asked))
        case "inspect":
            return shared._replace(path=asked.path, json=asked.json)
        case _:
            return shared._replace(
                path=asked.path,
                to=tag(asked.to),
                dry_run=asked.dry_run,
                take_release=asked.on_conflict == "take-release",
            )


def tag(version: str) -> str:
    """A version as Flux tags it: ``2.9.4`` is taken for ``v2.9.4``."""
    return f"v{version}" if version[:1].isdigit() else version


def _options(asked: argparse.Namespace) -> InstallOptions:
    components = _flat(asked.components) if asked.components is not None else list(DEFAULT_COMPONENTS)
    return InstallOptions(
        version=tag(asked.version),
        namespace=asked.namespace,
        components=(*components, *_flat(asked.components_extra)),
        registry=asked.registry,
        image_pull_secret=asked.image_pull_secret,
        watch_all_namespaces=asked.watch_all_namespaces,
        network_policy=asked.network_policy,
        log_level=asked.log_level,
        cluster_domain=asked.cluster_domain,
        toleration_keys=tuple(_flat(asked.toleration_keys)),
    )


def _flat(lists: list[list[str]] | None) -> list[str]:
    return [item for each in lists or [] for item in each]
