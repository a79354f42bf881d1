"""Flags of `flux bootstrap` become options, or problems that never show a secret."""

from __future__ import annotations

import re
import subprocess
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flux_upgrade.bootstrap.config_keys import parse_bootstrap_flags
from flux_upgrade.bootstrap.flag_table import ELSEWHERE, FLAGS, Flag, FlagKind, FlagUse
from flux_upgrade.bootstrap.options import Auth, BootstrapOptions, OciOptions, Provider, Source, Team
from flux_upgrade.bootstrap.validation import FORMS, check_version
from flux_upgrade.cli.bootstrap_flags import given as given_words
from flux_upgrade.cli.parse import parse
from flux_upgrade.config.config import FlagValue
from flux_upgrade.manifests.options import DEFAULT_COMPONENTS, InstallOptions
from flux_upgrade.model.errors import UsageError
from flux_upgrade.model.versions import is_tag
from parsed_flags import parse_flags

WHOLE: dict[Provider, dict[str, FlagValue]] = {
    Provider.GITHUB: {"owner": "o", "repository": "r"},
    Provider.GITLAB: {"owner": "g/s", "repository": "r"},
    Provider.GITEA: {"owner": "o", "repository": "r"},
    Provider.BITBUCKET_SERVER: {"owner": "o", "repository": "r", "hostname": "git.example.com"},
    Provider.GIT: {"url": "ssh://git@example.com/o/r"},
}
ARTIFACT: dict[str, FlagValue] = {"url": "oci://registry.example.com/flux:production"}
PLAIN = parse_flags(Provider.GITHUB, Source.GIT, WHOLE[Provider.GITHUB])


def parsed(flags: dict[str, FlagValue], provider: Provider = Provider.GITHUB) -> BootstrapOptions:
    return parse_flags(provider, Source.GIT, {**WHOLE[provider], **flags})


def problems(
    flags: dict[str, FlagValue], provider: Provider = Provider.GITHUB, source: Source = Source.GIT
) -> list[str]:
    base = WHOLE[provider] if source is Source.GIT else ARTIFACT
    with pytest.raises(UsageError) as caught:
        parse_flags(provider, source, {**base, **flags})
    assert caught.value.hint
    return caught.value.message.split("; ")


def where_usable(flag: Flag) -> tuple[Provider, Source]:
    return flag.providers[0], flag.sources[0]


USABLE = [flag for flag in FLAGS.values() if flag.use is not FlagUse.REFUSED]


@pytest.mark.parametrize("flag", USABLE, ids=lambda flag: flag.name)
def test_every_flag_takes_its_own_default(flag: Flag) -> None:
    provider, source = where_usable(flag)
    base = WHOLE[provider] if source is Source.GIT else ARTIFACT
    without = parse_flags(provider, source, base)
    assert parse_flags(provider, source, {flag.name: flag.default, **base}) == without if flag.default else True


@pytest.mark.parametrize("flag", USABLE, ids=lambda flag: flag.name)
def test_every_flag_refuses_what_is_not_of_its_kind(flag: Flag) -> None:
    provider, source = where_usable(flag)
    base = WHOLE[provider] if source is Source.GIT else ARTIFACT
    wrong: dict[FlagKind, list[Any]] = {
        FlagKind.BOOLEAN: ["maybe", "", 2, ["true"]],
        FlagKind.TEXT: [True, 1, ["a"]],
        FlagKind.LIST: [True, 1, ["a,b"], [""], "a,,b"],
        FlagKind.DURATION: [True, 60, "60", "1 m", "-1m", "0s", "1ns", ["1m"]],
        FlagKind.NUMBER: [True, "x", "", "-1", ["1"]],
        FlagKind.CHOICE: [True, 1, "unheard-of", ["info"]],
    }
    for value in wrong[flag.kind]:
        with pytest.raises(UsageError, match=f"--{flag.name}"):
            parse_flags(provider, source, {**base, flag.name: value})


@pytest.mark.parametrize(
    "flag", [each for each in FLAGS.values() if each.use is FlagUse.REFUSED], ids=lambda flag: flag.name
)
def test_what_is_refused_says_why(flag: Flag) -> None:
    provider, _ = where_usable(flag)
    assert problems({flag.name: "hush-hush"}, provider) == [f"--{flag.name} {flag.meaning}"]


def test_the_table_holds_together() -> None:
    fields = {*BootstrapOptions._fields, *InstallOptions._fields, *OciOptions._fields}
    elsewhere = {"token-auth", "private", "team", "group", "components-extra", "oci-provider", "ssh-key-algorithm"}
    for flag in FLAGS.values():
        assert not flag.since or is_tag(flag.since), flag.name
        assert (flag.kind is FlagKind.CHOICE) == bool(flag.choices), flag.name
        assert not flag.default or not flag.choices or flag.default in flag.choices, flag.name
        assert flag.use is not FlagUse.USED or flag.field in fields or flag.name in elsewhere, flag.name
        assert flag.description
    assert FORMS.keys() <= FLAGS.keys()
    assert not FLAGS.keys() & ELSEWHERE.keys()
    shorts = [flag.short for flag in FLAGS.values() if flag.short]
    assert len(set(shorts)) == len(shorts)


def test_every_option_can_be_given() -> None:
    made = {"provider", "auth", "install", "teams", "oci", "is_latest"}
    assert {*BootstrapOptions._fields} - made <= {flag.field for flag in FLAGS.values()}


@pytest.mark.parametrize(
    ("flags", "changes"),
    [
        ({}, {}),
        ({"private": "false"}, {"visibility": "public"}),
        ({"private": False}, {"visibility": "public"}),
        ({"private": "F"}, {"visibility": "public"}),
        ({"private": 0}, {"visibility": "public"}),
        ({"private": "true"}, {"visibility": "private"}),
        ({"interval": "10m"}, {"interval": "10m0s"}),
        ({"interval": "1h30m"}, {"interval": "1h30m0s"}),
        ({"token-auth": True}, {"auth": Auth.TOKEN}),
        ({"token-auth": "false"}, {}),
        ({"app-id": 7, "app-installation-id": "8"}, {"auth": Auth.APP, "app_id": "7", "app_installation_id": "8"}),
        ({"team": "a, b:admin"}, {"teams": (Team("a"), Team("b", "admin"))}),
        ({"team": ["a"]}, {"teams": (Team("a"),)}),
        ({"path": "./clusters/x/"}, {"path": "./clusters/x/"}),
        ({"owner": "", "repository": "p/q"}, {"owner": "p", "repository": "q"}),
        ({"verbose": True, "ssh-rsa-bits": 4096}, {}),
        ({"commit-message-appendix": "[ci skip]\nx"}, {"commit_message_appendix": "[ci skip]\nx"}),
        ({"ca-file": ""}, {}),
        ({"registry-creds": "u:p", "image-pull-secret": "s"}, {"registry_creds": "u:p", "install": InstallOptions("", image_pull_secret="s")}),
        ({"version": "2.9.4", "network-policy": "0"}, {"install": InstallOptions("v2.9.4", network_policy=False)}),
        ({"version": "latest"}, {"is_latest": True}),
        ({"hostname": "GitHub.com"}, {"hostname": "github.com"}),
        ({"secret-name": "123"}, {"secret_name": "123"}),
        ({"components-extra": '"image-reflector-controller","source-watcher"'}, {"install": InstallOptions("", components=(*DEFAULT_COMPONENTS, "image-reflector-controller", "source-watcher"))}),
        ({"components-extra": "source-watcher", "registry": ""}, {"install": InstallOptions("", components=(*DEFAULT_COMPONENTS, "source-watcher"), registry="")}),
        ({"components": ["source-controller", "kustomize-controller"]}, {"install": InstallOptions("", components=("source-controller", "kustomize-controller"))}),
    ],
)  # fmt: skip
def test_flags_become_options(flags: dict[str, FlagValue], changes: dict[str, Any]) -> None:
    assert parsed(flags) == PLAIN._replace(**changes)


def test_a_group_may_push_where_nothing_else_is_said() -> None:
    options = parsed({"group": "a,b:admin"}, Provider.BITBUCKET_SERVER)
    assert options.teams == (Team("a", "push"), Team("b", "admin"))


def test_an_artifact_has_flags_of_its_own() -> None:
    options = parse_flags(
        Provider.GIT,
        Source.OCI,
        {**ARTIFACT, "cluster-url": "oci://registry.example.com/c:x", "cluster-path": "a", "oci-provider": "aws", "allow-insecure-http": 1},
    )  # fmt: skip
    assert options.oci == OciOptions(
        str(ARTIFACT["url"]), "oci://registry.example.com/c:x", "a", "", "aws", allow_insecure_http=True
    )
    assert options.username == ""
    assert (options.source, options.auth, options.folder) == (Source.OCI, Auth.TOKEN, "flux-system")


@pytest.mark.parametrize(
    ("provider", "flags", "expected"),
    [
        ("github", {"privat": True}, ["unknown flag 'privat', did you mean 'private'?"]),
        ("github", {"private": "maybe"}, ["--private 'maybe' must be true or false"]),
        ("github", {"interval": 60}, ["--interval '60' is not a duration such as 60s or 60m"]),
        ("github", {"log-level": "inf"}, ["--log-level 'inf' is not one of debug, info, error, did you mean 'info'?"]),
        ("git", {"team": "a"}, ["--team is not a flag of `flux bootstrap git` (only of github, gitlab, gitea)"]),
        ("github", {"url": "ssh://x/y"}, ["--url is not a flag of `flux bootstrap github` (only of git)"]),
        ("gitea", {"app-id": 1}, ["--app-id is not a flag of `flux bootstrap gitea` (only of github)"]),
        ("github", {"cluster-url": "oci://x/y:z"}, ["--cluster-url needs --source=oci"]),
        ("github", {"kubeconfig": "x"}, ["--kubeconfig applies to one machine and one run: use it on the command line"]),
        ("github", {"version": "2.9"}, ["--version '2.9' is not a Flux version such as v2.9.4"]),
        ("github", {"version": "v0.41.2"}, ["Flux v0.41.2 is older than v2.0.0, the first release that flux-upgrade bootstraps"]),
        ("gitea", {"version": "v2.1.0"}, ["`flux bootstrap gitea` requires Flux v2.2.0 or later, not v2.1.0"]),
        ("github", {"version": "v2.8.1", "sparse-checkout": "."}, ["--sparse-checkout requires Flux v2.9.0 or later, not v2.8.1"]),
        ("github", {"version": "v2.4.0", "app-id": 1}, ["--app-id requires Flux v2.5.0 or later, not v2.4.0"]),
        ("github", {"branch": "a b"}, ["--branch 'a b' is not a valid branch name"]),
        ("github", {"branch": ""}, ["--branch '' is not a valid branch name"]),
        ("github", {"namespace": "A"}, ["--namespace 'A' is not a DNS label (a-z, 0-9 and '-', at most 63 characters)"]),
        ("github", {"namespace": "${X}"}, ["--namespace '${X}' is a variable: use its value"]),
        ("github", {"secret-name": "A_b"}, ["--secret-name 'A_b' is not the name of a Secret (a-z, 0-9, '-' and '.')"]),
        ("github", {"path": "../x"}, ["--path '../x' is not a directory inside the repository"]),
        ("github", {"path": "a/../../x"}, ["--path 'a/../../x' is not a directory inside the repository"]),
        ("github", {"path": ".git/hooks"}, ["--path '.git/hooks' is not a directory inside the repository"]),
        ("github", {"path": "a\nb"}, ["--path 'a\\nb' is not a directory inside the repository"]),
        ("github", {"team": "a:b:c"}, ["--team 'a:b:c' is not a name, or name:permission with pull|triage|push|maintain|admin"]),
        ("github", {"components": "helm-controller"}, ["component 'source-controller' is required: Flux reconciles nothing without it", "component 'kustomize-controller' is required: Flux reconciles nothing without it"]),
        ("github", {"components-extra": "source-wacher"}, ["component 'source-wacher' does not exist in this release, did you mean 'source-watcher'?"]),
        ("github", {"registry-creds": "hush"}, ["--registry-creds is not user:password"]),
        ("github", {"registry-creds": "u:hush"}, ["--registry-creds needs --image-pull-secret, the name of the Secret"]),
        ("github", {"registry-creds": "u:hush:x", "image-pull-secret": "s"}, ["--registry-creds is not user:password"]),
        ("github", {"personal": True, "team": "a"}, ["--personal and --team cannot be combined: a user has no teams"]),
        ("github", {"token-auth": True, "read-write-key": True}, ["--token-auth and --read-write-key cannot be combined: a token replaces the deploy key"]),
        ("github", {"token-auth": False, "read-write-key": True, "app-id": 1}, ["--app-id and --read-write-key cannot be combined: a GitHub App replaces the deploy key"]),
        ("github", {"token-auth": True, "app-id": 1}, ["--token-auth and --app-id cannot be combined: a GitHub App does not need a token"]),
        ("github", {"app-installation-id": 1}, ["--app-installation-id needs --app-id, the ID of the app"]),
        ("github", {"app-id": 1, "app-installation-id": 1, "app-installation-owner": "o"}, ["--app-installation-id and --app-installation-owner cannot be combined: one of them is enough"]),
        ("git", {"with-bearer-token": True}, ["--with-bearer-token needs --token-auth, to use a token at all"]),
        ("git", {"url": "http://example.com/r", "token-auth": True}, ["--url uses http, which is insecure: use https, or add --allow-insecure-http"]),
        ("git", {"url": "ssh://K1@git-codecommit.eu-west-1.amazonaws.com/v1/repos/r"}, ["AWS CodeCommit needs an SSH key that is registered there: use --private-key-file"]),
        ("github", {"repository": "p/q"}, ["--repository has the owner p, but --owner is different"]),
        ("github", {"sparse-checkout": "apps", "path": "clusters/x"}, ["--sparse-checkout must include clusters/x/flux-system"]),
        ("github", {"ssh-key-algorithm": "rsa"}, ["--ssh-key-algorithm 'rsa' is not ed25519: create other keys with ssh-keygen, and use private-key-file"]),
        ("gitlab", {"visibility": "internal", "version": "v2.3.0"}, ["--visibility requires Flux v2.4.0 or later, not v2.3.0"]),
        ("gitlab", {"visibility": "internal", "private": False}, ["--visibility internal and --private=false contradict each other"]),
        ("bitbucket-server", {"hostname": ""}, ["bitbucket-server needs --hostname"]),
    ],
)  # fmt: skip
def test_impossible_flags_are_reported(provider: str, flags: dict[str, FlagValue], expected: list[str]) -> None:
    assert problems(flags, Provider(provider)) == expected


@pytest.mark.parametrize(
    "url", ["git@example.com:o/r", "example.com/r", "ssh://git:hush@example.com/r", "file:///r", "ssh://"]
)
def test_a_url_that_flux_could_not_use_is_reported(url: str) -> None:
    (problem,) = problems({"url": url}, Provider.GIT)
    assert problem.startswith("--url ")
    assert "hush" not in problem


def test_all_problems_are_reported_at_once() -> None:
    found = problems(
        {"privat": True, "team": "a", "interval": 1, "path": "..", "components": "helm-controller"}, Provider.GIT
    )
    assert len(found) == 6
    assert len(set(found)) == 6


def test_an_artifact_has_no_flags_of_git() -> None:
    assert problems({"branch": "x", "token-auth": True}, source=Source.OCI) == [
        "--branch cannot be combined with --source=oci",
        "--token-auth cannot be combined with --source=oci",
    ]
    with pytest.raises(UsageError, match="--url"):
        parse_flags(Provider.GITHUB, Source.OCI, {})


def test_nothing_follows_from_a_value_that_is_wrong() -> None:
    found = problems({"url": "ssh://x", "image-pull-secret": "A", "registry-creds": "u:p"}, Provider.GIT)
    assert found == ["--image-pull-secret 'A' is not a DNS name that YAML reads as a string"]


@pytest.mark.parametrize("value", ["hush", "u:hush:x", "u:hu sh", True, ["hush"]])
def test_a_secret_is_in_no_message_and_no_repr(value: Any) -> None:
    assert "hush" not in " ".join(problems({"registry-creds": value}))
    assert "hush" not in repr(parsed({"registry-creds": "u:hush", "image-pull-secret": "s"}))


def test_the_checkout_supplies_what_is_missing() -> None:
    known = {"owner": "o", "repository": "r", "hostname": "ghe.example.com", "url": "ssh://git@x/y"}
    options = parse_flags(Provider.GITHUB, Source.GIT, {"repository": "mine"}, known=known)
    assert (options.owner, options.repository, options.hostname, options.url) == ("o", "mine", "ghe.example.com", "")
    assert parse_flags(Provider.GIT, Source.GIT, {}, known=known).url == "ssh://git@x/y"
    with pytest.raises(UsageError, match="--owner is missing; --repository is missing"):
        parse_flags(Provider.GITHUB, Source.GIT, {})


def test_the_version_may_be_known_otherwise() -> None:
    options = parse_flags(Provider.GITHUB, Source.GIT, WHOLE[Provider.GITHUB], version="v2.6.4")
    assert options.install.version == "v2.6.4"
    with pytest.raises(UsageError, match="--sparse-checkout requires Flux"):
        parse_flags(Provider.GITHUB, Source.GIT, {**WHOLE[Provider.GITHUB], "sparse-checkout": "."}, version="v2.6.4")


@pytest.mark.parametrize(
    ("flags", "provider", "tag", "message"),
    [
        ({"sparse-checkout": "."}, "github", "v2.9.0", ""),
        ({"sparse-checkout": "."}, "github", "v2.9.0-rc.1", ""),
        ({"sparse-checkout": "."}, "github", "v2.8.9", "--sparse-checkout"),
        ({"app-id": 1}, "github", "v2.5.0", ""),
        ({"app-id": 1}, "github", "v2.4.9", "--app-id"),
        ({"app-id": 1, "app-installation-owner": "o"}, "github", "v2.7.0", "--app-installation-owner"),
        ({"force": True}, "github", "v2.1.0", "--force"),
        ({"with-bearer-token": True, "token-auth": True}, "git", "v2.2.0", "--with-bearer-token"),
        ({"visibility": "internal"}, "gitlab", "v2.3.0", "--visibility"),
        ({"private": False}, "gitlab", "v2.0.0", ""),
        ({}, "gitea", "v2.1.2", "`flux bootstrap gitea`"),
        ({}, "github", "v2.0.0", ""),
        ({}, "github", "v0.41.2", "Flux v0.41.2 is older"),
    ],
)
def test_a_release_has_what_it_has(flags: dict[str, FlagValue], provider: str, tag: str, message: str) -> None:
    options = parsed(flags, Provider(provider))
    if not message:
        check_version(options, tag)
        return
    with pytest.raises(UsageError) as caught:
        check_version(options, tag)
    assert caught.value.message.startswith(message)
    assert ";" not in caught.value.message


SAME = (
    ({"path": "clusters/x", "private": "false", "team": ["a", "b:admin"]}, "github"),
    ({"interval": "90s", "recurse-submodules": True, "branch": "release/1.x"}, "gitlab"),
    ({"url": "https://example.com/r", "token-auth": True, "with-bearer-token": "t", "username": "me"}, "git"),
    ({"app-id": 12, "app-installation-id": 34, "components-extra": ["source-watcher"]}, "github"),
    ({"toleration-keys": ["a", "b"], "network-policy": False, "version": "v2.9.4"}, "gitea"),
)


@pytest.mark.parametrize(("flags", "provider"), SAME)
def test_a_mapping_words_and_arguments_give_the_same(flags: dict[str, FlagValue], provider: str) -> None:
    import yaml

    texts = {name: ",".join(value) if isinstance(value, list) else str(value) for name, value in flags.items()}
    texts = {name: text.lower() if text in ("True", "False") else text for name, text in texts.items()}
    words = [f"--{name}={text}" for name, text in texts.items()]
    ways: list[dict[str, FlagValue]] = [
        flags,
        dict(parse_bootstrap_flags(yaml.safe_dump(flags), "flags")),
        dict(parse_bootstrap_flags(" ".join(words), "flags")),
        dict(parse_bootstrap_flags("\n".join(word.removeprefix("--") for word in words), "flags")),
        dict(given_words(vars(parse("bootstrap", words)))),
    ]
    first, *others = [parsed(each, Provider(provider)) for each in ways]
    assert first != parsed({}, Provider(provider))
    assert others == [first] * 4


@pytest.mark.parametrize(
    ("words", "flags"),
    [
        (["--personal", "."], {"personal": "true"}),
        (["--personal=false"], {"personal": "false"}),
        (["-s", "-n", "x", "-u", "me", "-v", "v2.9.4"], {"silent": "true", "namespace": "x", "username": "me", "version": "v2.9.4"}),
        (["--team=a,b", "--team", "c"], {"team": ["a", "b", "c"]}),
        (["--path=a", "--path=b"], {"path": "b"}),
        (["--provider=git", "--source=oci"], {}),
    ],
)  # fmt: skip
def test_arguments_are_taken_as_flux_takes_them(words: list[str], flags: dict[str, FlagValue]) -> None:
    assert given_words(vars(parse("bootstrap", words))) == flags


BRANCHES = (
    "main", "release/1.x", "a.b", "ä", "a@", "a{", "a", "x.lock", "x.lock/y", "a/.b", ".a", "a.", "a/", "/a",
    "a//b", "a..b", "a b", "a~", "a^", "a:", "a?", "a*", "a[", "a\\", "a@{b", "-a", "a\tb", "a\x7f", "",
)  # fmt: skip


@pytest.mark.parametrize("branch", BRANCHES)
def test_a_branch_is_what_git_takes(branch: str) -> None:
    done = subprocess.run(  # noqa: S603 git itself
        ["git", "check-ref-format", "--branch", branch],  # noqa: S607 wherever it is
        check=False,
        capture_output=True,
    )
    assert bool(re.fullmatch(FORMS["branch"].pattern, branch)) == (done.returncode == 0)


VALUES = st.one_of(
    st.booleans(),
    st.integers(-1, 100),
    st.text(max_size=12),
    st.lists(st.text(max_size=5), max_size=3),
    st.sampled_from(["true", "false", "1m", "main", "a/b", "../x", "oci://r.io/a:b", "ssh://git@h/r", "v2.9.4"]),
)


@given(
    st.dictionaries(st.one_of(st.sampled_from(list(FLAGS)), st.text(max_size=8)), VALUES, max_size=8),
    st.sampled_from(Provider),
    st.sampled_from(Source),
)
def test_any_map_is_options_or_problems(flags: dict[str, FlagValue], provider: Provider, source: Source) -> None:
    base = WHOLE[provider] if source is Source.GIT else ARTIFACT
    try:
        options = parse_flags(provider, source, {**base, **flags})
    except UsageError:
        return
    assert options.path.isprintable()
    assert ".." not in options.sync_path.split("/")
    assert not options.install.version or is_tag(options.install.version)
    assert options.source is source
