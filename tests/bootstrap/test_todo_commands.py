"""A shell runs the commands of a bootstrap's to-do list as they are meant, and no name in them becomes code."""

from __future__ import annotations

import base64
import json
import re
import shlex
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from bootstrap.proposed_bootstraps import Case, case, cluster, names
from flux_upgrade.bootstrap.flag_table import FLAGS
from flux_upgrade.bootstrap.options import Provider, Source
from flux_upgrade.bootstrap.proposed import Handover, PlaceKind, ProposedCluster
from flux_upgrade.bootstrap.shell import bootstrap_command
from flux_upgrade.bootstrap.todo import at_once, left_to_do, with_new_secret
from parsed_flags import parse_flags

TOKEN = "s3cr3t $(id)'\""
STAND_IN = """#!{python}
import json, sys
takes = any(word.endswith("/dev/stdin") or word == "-" for word in sys.argv)
with open({log!r}, "a") as log:
    print(json.dumps([{name!r}, sys.argv[1:], sys.stdin.read() if takes else ""]), file=log)
print("made by {name}")
"""
_BLOCK = re.compile(r"^(?P<fence>`{3,})bash\n(?P<text>.*?)^(?P=fence)$", re.MULTILINE | re.DOTALL)


class Shell:
    """bash in an empty folder, with programs that write down what they are given."""

    def __init__(self, folder: Path, python: str) -> None:
        self.folder = folder / "work"
        self.log = folder / "log"
        self._bin = folder / "bin"
        for each in (self.folder, self._bin):
            each.mkdir()
        for name in ("kubectl", "flux", "gh", "ssh-keyscan", "ssh-keygen", "flux-upgrade"):
            program = self._bin / name
            program.write_text(STAND_IN.format(python=python, log=str(self.log), name=name))
            program.chmod(program.stat().st_mode | stat.S_IXUSR)

    def run(self, script: str, typed: str = "") -> list[tuple[str, list[str], str]]:
        """What the programs were given: name, arguments, what came through a pipe."""
        self.log.write_text("")
        bash = shutil.which("bash")
        assert bash is not None
        path = f"{self._bin}:/usr/bin:/bin"
        environment = {"PATH": path, "HOME": "/home/me", "TMPDIR": str(self.folder)}
        subprocess.run(  # noqa: S603 what is tested
            [bash, "-eu", "-c", script],
            cwd=self.folder,
            env=environment,
            input=typed,
            text=True,
            check=True,
            capture_output=True,
        )
        return [tuple(json.loads(line)) for line in self.log.read_text().splitlines()]


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path, sys.executable)


def scripts(text: str) -> list[str]:
    """The blocks of a text that are for a shell."""
    return [found["text"] for found in _BLOCK.finditer(text)]


def all_steps(each: ProposedCluster) -> str:
    return "\n\n".join([*left_to_do(each, "acme/fleet"), at_once(each)])


@pytest.fixture(scope="module", params=names())
def written(request: pytest.FixtureRequest) -> Case:
    return case(request.param)


def test_every_block_is_a_script(written: Case) -> None:
    bash = shutil.which("bash")
    assert bash is not None
    for each in written.proposal.clusters[:3]:
        for script in scripts(all_steps(each)):
            subprocess.run([bash, "-n", "-c", script], check=True)  # noqa: S603 what is tested


def test_the_command_makes_the_same_bootstrap(written: Case) -> None:
    for each in written.proposal.clusters[:3]:
        command, subcommand, *words = shlex.split(bootstrap_command(each.options))
        assert (command, subcommand) == ("flux-upgrade", "bootstrap")
        given = dict(word.removeprefix("--").partition("=")[::2] for word in words)
        flags = {name: value or True for name, value in given.items() if name in FLAGS}
        provider = Provider(given.get("provider", "github"))
        again = parse_flags(provider, Source(given.get("source", "git")), flags)
        options = each.options._replace(commit_message_appendix="")
        if provider is not Provider.GIT and options.oci is None:
            options = options._replace(url="")
        assert again._asdict() == options._asdict()


def test_a_key_goes_from_the_provider_to_the_cluster(shell: Shell) -> None:
    ran = shell.run(
        "\n".join(scripts("\n".join(left_to_do(cluster(path="clusters/a b"), "acme/fleet")))).replace(
            "rm identity", "true"
        )
    )
    title = "flux-system-main-flux-system-./clusters/a b"
    assert [(name, words) for name, words, _ in ran if name != "kubectl"] == [
        ("ssh-keygen", ["-t", "ed25519", "-N", "", "-C", title, "-f", "identity"]),
        ("gh", ["repo", "deploy-key", "add", "identity.pub", "--repo", "acme/fleet", "--title", title]),
        ("gh", ["api", "meta", "--jq", '.ssh_keys[] | "github.com \\(.)"']),
        ("flux", ["check", "--namespace=flux-system"]),
        ("flux", ["get", "all", "--namespace=flux-system"]),
    ]
    kubectl = [words for name, words, _ in ran if name == "kubectl"]
    assert kubectl[2][:4] == ["create", "secret", "generic", "flux-system"]
    assert kubectl[-3:] == [
        ["apply", "--server-side", "-f", "./clusters/a b/flux-system/gotk-components.yaml"],
        [
            *("wait", "crd", "--selector=app.kubernetes.io/part-of=flux"),
            *("--for=condition=established", "--timeout=1m"),
        ],
        ["apply", "--server-side", "-k", "./clusters/a b/flux-system"],
    ]


def test_names_that_would_like_to_run_do_not(shell: Shell) -> None:
    (hostile,) = case("hostile-names").proposal.clusters
    ran = shell.run("\n".join(scripts(all_steps(hostile))).replace("rm identity", "true"))
    # Our own markers are taken apart, wherever they stand.
    path = hostile.options.path.replace("<!--", "<\u200b!--")
    assert ["apply", "--server-side", "-k", f"./{path}/flux-system"] in [words for _, words, _ in ran]
    assert f"--path={path}" in ran[-1][1]
    assert "--kubeconfig=/home/me/.kube/config" in ran[-1][1]
    assert not list(shell.folder.rglob("x"))


@pytest.mark.parametrize(
    ("stated", "secret"),
    [
        ({"flags": {"token-auth": True}}, "generic flux-system"),
        ({"provider": "git", "flags": {"url": "https://git.example.com/a", "token-auth": True}}, "flux-system"),
        ({"handover": {"place": "cluster"}, "flags": {"image-pull-secret": "regcred"}}, "generic regcred"),
    ],
)  # fmt: skip
def test_a_token_goes_through_a_pipe_alone(shell: Shell, stated: dict[str, object], secret: str) -> None:
    things = left_to_do(cluster(stated, path="clusters/staging"), "acme/fleet")
    ran = shell.run(scripts(things[0])[0], typed=f"{TOKEN}\n")
    assert TOKEN not in json.dumps([words for _, words, _ in ran])
    (made,) = [(words, piped) for _, words, piped in ran if "secret" in words]
    assert secret in " ".join(made[0])
    assert made[1]
    assert not made[1].endswith("\n")


@pytest.mark.parametrize("is_typed", [True, False])
def test_a_block_that_asks_for_a_token_fails_with_what_is_in_it(shell: Shell, *, is_typed: bool) -> None:
    script = scripts(left_to_do(cluster({"flags": {"token-auth": True}}), "acme/fleet")[0])[0]
    if is_typed:
        script = f"kubectl() {{ cat; [ $# != 0 ] && [ $2 != secret ]; }}\n{script}"
    with pytest.raises(subprocess.CalledProcessError):
        shell.run(f"{script}\ntouch after", typed="token\n" if is_typed else "")
    assert not (shell.folder / "after").exists()


def test_the_secret_of_a_registry_is_what_docker_reads(shell: Shell) -> None:
    stated = {
        "handover": {"place": "cluster"},
        "flags": {"image-pull-secret": "regcred", "registry": "registry.example.com:5000/fluxcd"},
    }
    things = left_to_do(cluster(stated, path="clusters/staging"), "acme/fleet")
    ran = shell.run(scripts(things[0])[0], typed=f"{'t' * 90}\n")
    config = json.loads(ran[-1][2])
    auth = base64.b64decode(config["auths"]["registry.example.com:5000"]["auth"]).decode()
    assert auth == f"USER:{'t' * 90}"


def test_nothing_is_said_of_what_is_done() -> None:
    done = Handover(PlaceKind.CLUSTER, public_key="ssh-ed25519 AAAA", is_registered=True)
    new = cluster(path="clusters/staging")
    first = left_to_do(new._replace(handover=done), "acme/fleet")[0]
    assert first.startswith("Merge this pull request. Then apply")
    same = new._replace(files=new.files._replace(changes=()), handover=done)
    assert left_to_do(same, "acme/fleet") == []


def test_an_artifact_is_applied_from_its_files() -> None:
    stated = {
        "source": "oci",
        "commands": ["kubectl apply --server-side -k ./flux-system"],
        "flags": {"url": "oci://registry.example.com/flux:production"},
    }
    secret, apply, verify = left_to_do(cluster(stated), "")
    assert "registry.example.com" in secret
    assert scripts(apply) == ["kubectl apply --server-side -k ./flux-system\n"]
    assert "flux check" in verify


def test_the_command_for_an_artifact_is_of_its_own_flags_and_waits_for_no_merge() -> None:
    url = "oci://registry.example.com/flux:production"
    each = cluster({"source": "oci", "commands": ["kubectl apply"], "flags": {"url": url}})
    (script,) = scripts(at_once(each))
    assert shlex.split(script.replace("\\\n", "")) == [
        "flux-upgrade",
        "bootstrap",
        "--source=oci",
        "--version=v2.9.4",
        f"--url={url}",
        "--kubeconfig=$HOME/.kube/config",
    ]
    assert "merged" not in at_once(each)


def test_a_secret_for_an_artifact_that_was_written_is_not_made_by_hand() -> None:
    stated = {
        "source": "oci",
        "commands": ["kubectl apply --server-side -k ./flux-system"],
        "flags": {"url": "oci://registry.example.com/flux:production"},
        "handover": {"place": "file", "is_fresh": True},
    }
    secret, *_ = left_to_do(cluster(stated), "")
    assert "kubectl apply --server-side -f SECRET_FILE\n" in scripts(secret)[0]


def test_a_new_key_for_a_flux_that_is_there_has_to_be_registered_and_applied() -> None:
    fresh = Handover(PlaceKind.FILE, public_key="ssh-ed25519 AAAA", is_fresh=True)
    new = cluster(path="clusters/staging")
    there = new._replace(files=new.files._replace(changes=()))
    register, apply = with_new_secret(there._replace(handover=fresh), "acme/fleet")
    assert "ssh-ed25519 AAAA" in register
    assert "SECRET_FILE" in apply
    assert with_new_secret(there._replace(handover=fresh._replace(is_fresh=False)), "acme/fleet") == []
    # Of a new one, the rest of what is left to do says it.
    assert with_new_secret(new._replace(handover=fresh), "acme/fleet") == []


def test_the_users_own_key_goes_to_the_cluster(shell: Shell) -> None:
    own = cluster({"flags": {"private-key-file": "/home/ann/key"}}, path="clusters/staging")
    text = "\n".join(left_to_do(own, "acme/fleet"))
    (shell.folder / "key").write_text("private")
    script = "\n".join(scripts(text)).replace("PRIVATE_KEY_FILE", str(shell.folder / "key"))
    ran = shell.run(script)
    assert [words for name, words, _ in ran if name == "ssh-keygen"] == [["-y", "-f", "identity"]]
    assert "/home/ann" not in text
    assert "--from-file=password" in text


def test_an_artifact_with_a_secret_file_from_before() -> None:
    """What the file has is the same, whether it was written now or by another run."""
    stated = {
        "source": "oci",
        "commands": ["kubectl apply --server-side -k ./flux-system"],
        "flags": {"url": "oci://registry.example.com/flux:production"},
        "handover": {"place": "file"},
    }
    secret, *_ = left_to_do(cluster(stated), "")
    assert "kubectl apply --server-side -f SECRET_FILE\n" in scripts(secret)[0]
    stated["handover"] = {"place": "file", "lacks_source": True}
    by_hand, applied, *_ = left_to_do(cluster(stated), "")
    assert "--type=kubernetes.io/dockerconfigjson" in by_hand
    assert "SECRET_FILE" in applied
