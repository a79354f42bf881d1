"""A bootstrap reads flags, config file and tokens before it decides anything, and refuses what would send a token elsewhere."""

from __future__ import annotations

import base64
import re
import ssl
from pathlib import Path

import pytest

from adapters.registries import own_certificate
from bootstrap.cli_runs import COMPONENTS, Laptop, files_of
from flux_upgrade.bootstrap.components import RenderedComponents
from flux_upgrade.bootstrap.options import Provider, Source
from flux_upgrade.commands.wiring import build_regenerator, build_releases
from flux_upgrade.config.environment import Environment
from flux_upgrade.model.errors import Downgrade, ForgeUnavailable, UsageError
from git_servers import WRITE, Bare, HttpHost
from parsed_flags import parse_flags

PATH = "--path=clusters/staging"


@pytest.mark.parametrize("way", ["--pull-request", "--push", "--create-repository"])
def test_a_token_for_github_is_kept_from_a_server_that_a_flag_names(laptop: Laptop, checkout: Path, way: str) -> None:
    words = (PATH, "--hostname=github.example.com", "--repository=o/r", way)
    done = laptop.bootstrap(checkout, *words, env={"GITHUB_TOKEN": "hush"})
    done.refused(
        UsageError,
        "GITHUB_TOKEN is for https://github.com, but the repository is on github.example.com",
        "--provider=github",
    )
    assert "hush" not in done.err
    laptop.bootstrap(checkout, *words[:-1], env={"GITHUB_TOKEN": "hush"}).well()


def test_a_folder_that_is_not_there_is_not_its_parent(laptop: Laptop, checkout: Path) -> None:
    laptop.bootstrap(checkout / "clustres", PATH).refused(
        UsageError, "there is no directory", "pass the directory of a clone"
    )
    laptop.bootstrap(checkout / "README.md", PATH).refused(UsageError, "there is no directory")
    assert list(files_of(checkout)) == ["README.md"]


@pytest.mark.parametrize("word", ["false", "true", "0"])
def test_the_value_of_a_boolean_is_no_checkout(
    laptop: Laptop, checkout: Path, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(checkout)
    laptop.bootstrap(PATH, "--network-policy", word).refused(UsageError, f"--network-policy={word}")
    assert list(files_of(checkout)) == ["README.md"]


def test_an_authority_that_is_not_there_is_missed_early(laptop: Laptop, checkout: Path) -> None:
    laptop.bootstrap(checkout, PATH, "--ca-file=/nowhere/ca.pem").refused(UsageError, "/nowhere/ca.pem cannot be read")
    config = checkout / "c.yaml"
    config.write_text("bootstrap: {flags: {path: a, ca-file: /nowhere/of-the-file.pem}}\n")
    done = laptop.bootstrap(checkout, f"--config={config}")
    done.refused(UsageError, "/nowhere/of-the-file.pem cannot be read")


def test_the_newest_is_taken_where_it_is_asked_for(laptop: Laptop, checkout: Path) -> None:
    first, newest = ("v2.6.4", laptop.bootstrap(checkout, PATH, "--dry-run", "--json").well().cluster["version"])
    laptop.bootstrap(checkout, PATH, f"--version={first}").well()
    kept = laptop.bootstrap(checkout, PATH, "--json").well()
    assert (kept.cluster["version"], kept.value["outcome"]) == (first, "none")
    moved = laptop.bootstrap(checkout, PATH, "--version=latest", "--json").well()
    assert moved.cluster["version"] == newest != first
    assert newest in (checkout / COMPONENTS).read_text()


def test_what_latest_stands_for_is_settled_once(written_source: Path) -> None:
    environment = Environment()
    releases = build_releases(environment, str(written_source))
    components = RenderedComponents(build_regenerator(environment, releases))
    for version, is_settled in (("latest", True), ("", False), ("v2.6.4", False)):
        flags = {"owner": "o", "repository": "r", **({"version": version} if version else {})}
        options = parse_flags(Provider.GITHUB, Source.GIT, flags)
        settled = components.settled(options)
        assert not settled.is_latest
        assert (settled != options) == is_settled
        assert bool(settled.install.version) == (version != "")


def test_a_downgrade_is_refused_with_flags_of_a_bootstrap(laptop: Laptop, checkout: Path) -> None:
    newest = laptop.run("render", f"--release-source={laptop.source}").well().out
    laptop.bootstrap(checkout, PATH, "--version=v2.6.4").well()
    file = checkout / COMPONENTS
    image = re.compile("source-controller:v[0-9.]+")
    file.write_text(image.sub(image.findall(newest)[0], file.read_text()))
    done = laptop.bootstrap(checkout, PATH, "--log-level=debug").refused(Downgrade, "upgrade with --version=v2.")
    assert "--to" not in done.err


@pytest.mark.parametrize("way", ["--push", "--pull-request"])
@pytest.mark.parametrize("is_in_a_file", [True, False])
def test_an_authority_of_ones_own_is_trusted_by_git_too(
    laptop: Laptop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, *, is_in_a_file: bool
) -> None:
    certificate, key = own_certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    (tmp_path / "served").mkdir()
    monkeypatch.chdir(tmp_path)
    with HttpHost(tmp_path / "served", tls=context) as host:
        bare = Bare.make(host.root / "octo" / "fleet.git")
        words = (tmp_path, f"--url={host.url}/octo/fleet.git", "--token-auth", way)
        file = Path(certificate).name
        config = tmp_path / "c.yaml"
        config.write_text(f"bootstrap: {{flags: {{path: a{f', ca-file: {file}' if is_in_a_file else ''}}}}}\n")
        given = () if is_in_a_file else (f"--ca-file={file}",)
        laptop.bootstrap(*words, "--path=a", env={"GIT_PASSWORD": WRITE}).refused(ForgeUnavailable, "certificate")
        laptop.bootstrap(*words, f"--config={config}", *given, env={"GIT_PASSWORD": WRITE}).well()
        assert list(bare.refs()) == ["refs/heads/main"]


@pytest.mark.parametrize(
    ("words", "header"),
    [
        ((), f"Basic {base64.b64encode(f'git:{WRITE}'.encode()).decode()}"),
        (("--username=jane",), f"Basic {base64.b64encode(f'jane:{WRITE}'.encode()).decode()}"),
        (("--token-auth", "--with-bearer-token"), f"Bearer {WRITE}"),
    ],
)
def test_a_plain_server_gets_the_token_as_its_flags_say(
    laptop: Laptop, host: HttpHost, tmp_path: Path, words: tuple[str, ...], header: str
) -> None:
    Bare.make(host.root / "octo" / "fleet.git")
    (tmp_path / "empty").mkdir()
    for way in ("--push", "--pull-request"):
        host.seen.clear()
        url = (f"--url={host.url}/octo/fleet.git", "--allow-insecure-http")
        laptop.bootstrap(tmp_path / "empty", PATH, *url, *words, way, env={"GIT_PASSWORD": WRITE})
        assert {sent for _, sent in host.seen if sent} == {header}


@pytest.mark.parametrize("where", ["hostname: 127.0.0.1:PORT, owner: octo, repository: fleet", "url: URL"])
def test_a_config_file_alone_gives_nobody_a_token(laptop: Laptop, tmp_path: Path, host: HttpHost, where: str) -> None:
    Bare.make(host.root / "octo" / "fleet.git")
    port, url = host.url.rpartition(":")[2], f"{host.url}/octo/fleet.git"
    provider = "git" if "URL" in where else "gitlab"
    flags = where.replace("PORT", port).replace("URL", url)
    config = tmp_path / "c.yaml"
    config.write_text(
        f"bootstrap: {{provider: {provider}, flags: {{path: a, token-auth: true, {flags}"
        f"{', allow-insecure-http: true' if provider == 'git' else ''}}}}}\n"
    )
    secrets = {"GITLAB_TOKEN": WRITE, "GIT_PASSWORD": WRITE}
    done = laptop.bootstrap(tmp_path, f"--config={config}", "--push", env=secrets)
    done.refused(UsageError, "only the config file says that the token is for 127.0.0.1", "--hostname or --url")
    assert host.seen == []
