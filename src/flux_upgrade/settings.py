"""argv + environment → one frozen value. Nothing below reads either again."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from flux_upgrade import __version__
from flux_upgrade.errors import UsageError
from flux_upgrade.manifests.options import COMPONENTS, DEFAULT_COMPONENTS, LOG_LEVELS, InstallOptions, nearest

COMMANDS = ("render", "inspect", "upgrade")
DEFAULT_SOURCE = "github"
_TRUE = ("1", "t", "T", "TRUE", "true", "True")
_FALSE = ("0", "f", "F", "FALSE", "false", "False")


_ANY_RELEASE = InstallOptions(version="")


@dataclass(frozen=True)
class Settings:
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
    parser = _Parser(
        prog="flux-upgrade", description="Keep Flux current, and lose nothing.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"flux-upgrade {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    _render(
        commands.add_parser("render", help="print what `flux install --export` prints", allow_abbrev=False)
    )
    _inspect(commands.add_parser("inspect", help="say what every installation really is", allow_abbrev=False))
    _upgrade(commands.add_parser("upgrade", help="upgrade every installation in a tree", allow_abbrev=False))
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
    parser.description = "Print the bytes that `flux install --export` of that Flux version prints."
    _source(parser)
    parser.add_argument(
        "-v", "--version", default="", help="Flux version, like v2.9.4 (default: newest stable)"
    )
    parser.add_argument("-n", "--namespace", default=plain.namespace, help=f"(default: {plain.namespace})")
    parser.add_argument(
        "--components",
        type=_list,
        action="append",
        metavar="LIST",
        help=f"comma-separated, repeatable (default: {','.join(DEFAULT_COMPONENTS)})",
    )
    parser.add_argument(
        "--components-extra",
        type=_list,
        action="append",
        metavar="LIST",
        help=f"in addition, like {','.join(c for c in COMPONENTS if c not in DEFAULT_COMPONENTS)}",
    )
    parser.add_argument("--registry", default=plain.registry, help=f"(default: {plain.registry})")
    parser.add_argument(
        "--image-pull-secret", default="", metavar="NAME", help="Secret for a private registry"
    )
    for flag in ("--watch-all-namespaces", "--network-policy"):
        parser.add_argument(
            flag, type=_boolean, nargs="?", const=True, default=True, metavar="BOOL", help="(default: true)"
        )
    parser.add_argument(
        "--log-level", default=plain.log_level, help=f"{', '.join(LOG_LEVELS)} (default: info)"
    )
    parser.add_argument(
        "--cluster-domain", default=plain.cluster_domain, help=f"(default: {plain.cluster_domain})"
    )
    parser.add_argument(
        "--toleration-keys", type=_list, action="append", metavar="LIST", help="comma-separated, repeatable"
    )


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


def parse_settings(argv: Sequence[str], env: Mapping[str, str]) -> Settings:
    """Raises UsageError for what cannot be used, SystemExit for --help and --version."""
    parser = build_parser()
    if argv and not argv[0].startswith("-") and argv[0] not in COMMANDS:
        raise UsageError(
            f"there is no command '{argv[0]}'{nearest(argv[0], COMMANDS)}", hint="see `flux-upgrade --help`"
        )
    asked, unknown = parser.parse_known_args(list(argv))
    if unknown:
        flags = [flag for action in _actions(parser, asked.command) for flag in action.option_strings]
        word = unknown[0].partition("=")[0]
        raise UsageError(
            f"unknown argument '{unknown[0]}'{nearest(word, flags)}",
            hint=f"see `flux-upgrade {asked.command or ''} --help`".replace("  ", " "),
        )
    if asked.command is None:
        raise UsageError("no command given", hint=f"one of: {', '.join(COMMANDS)}; see `flux-upgrade --help`")
    home = env.get("HOME", "")
    base = env.get("XDG_CACHE_HOME", "") or (f"{home}/.cache" if home else "")
    shared = Settings(
        command=asked.command,
        release_source=asked.release_source,
        cache_dir=f"{base}/flux-upgrade" if base else "",
        token=token_of(env),
        search_path=env.get("PATH", ""),
        home=home,
    )
    return _for_command(shared, asked)


def token_of(env: Mapping[str, str]) -> str:
    """The token for GitHub's API; empty where there is none."""
    return (env.get("GITHUB_TOKEN", "") or env.get("GH_TOKEN", "")).strip()


def _actions(parser: argparse.ArgumentParser, command: str | None) -> list[argparse.Action]:
    for action in parser._actions:  # noqa: SLF001 argparse offers no other way to its flags
        if isinstance(action, argparse._SubParsersAction) and command in action.choices:  # noqa: SLF001 as above
            return list(action.choices[command]._actions)  # noqa: SLF001 as above
    return list(parser._actions)  # noqa: SLF001 as above


def _for_command(shared: Settings, asked: argparse.Namespace) -> Settings:
    values = {name: getattr(shared, name) for name in shared.__dataclass_fields__}
    match asked.command:
        case "render":
            values["options"] = _options(asked)
        case "inspect":
            values |= {"path": asked.path, "json": asked.json}
        case _:
            values |= {
                "path": asked.path,
                "to": tag(asked.to),
                "dry_run": asked.dry_run,
                "take_release": asked.on_conflict == "take-release",
            }
    return Settings(**values)


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
