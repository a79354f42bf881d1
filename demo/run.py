"""``make demo``: a small repository is upgraded before the reader's eyes, offline.

The releases are written here (``written_release``), so that nothing has to be
downloaded; the program, Git and every line of their output are real. Each
command is shown before it runs, and must end with the exit code that it should.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import written_release

SOURCE_CODE = Path(__file__).resolve().parent.parent / "src"
SOURCE = ("--release-source", "../releases")
STAGING = "clusters/staging/flux-system"
PRODUCTION = "clusters/production/flux-system"
EDGE = "clusters/edge/flux-system"
MANIFEST = "gotk-components.yaml"
CONFLICT = 9  # docs/reference/exit-codes.md


class Surprise(Exception):
    """A step ended otherwise than it should."""


class Stage:
    """Runs commands in the demo's repository, in sight of the reader."""

    def __init__(self, repository: Path) -> None:
        git = shutil.which("git")
        if git is None:
            raise Surprise("there is no git on PATH")
        self.repository = repository
        # Nothing of the machine's own settings: the demo is the same everywhere.
        self._environment = {
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_PAGER": "cat",
            "PYTHONPATH": str(SOURCE_CODE),
            "PYTHONUTF8": "1",
        }
        for role in ("AUTHOR", "COMMITTER"):
            self._environment |= {f"GIT_{role}_NAME": "demo", f"GIT_{role}_EMAIL": "demo@example.com"}
        self._programs = {"git": (git,), "flux-upgrade": (sys.executable, "-m", "flux_upgrade")}

    def run(self, *command: str, ends_with: int = 0) -> str:
        """Run a command, without showing it. Returns what it prints."""
        program, *arguments = command
        done = subprocess.run(
            [*self._programs[program], *arguments],
            cwd=self.repository,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )
        if done.returncode != ends_with:
            raise Surprise(
                f"`{' '.join(command)}` ended with {done.returncode}, not {ends_with}:\n{done.stdout}"
            )
        return done.stdout

    def show(self, *command: str, ends_with: int = 0) -> str:
        """Show a command and what it prints."""
        say(f"\n$ {shlex.join(command)}")
        printed = self.run(*command, ends_with=ends_with)
        say(printed.rstrip("\n") or "(prints nothing)")
        if ends_with:
            say(f"(exit code {ends_with})")
        return printed

    def render(self, folder: str, *flags: str) -> str:
        """Show how a manifest is made. Returns its text, which is then in the repository."""
        command = ("flux-upgrade", "render", *SOURCE, *flags)
        say(f"\n$ {shlex.join(command)} \\\n    > {folder}/{MANIFEST}")
        text = self.run(*command)
        write_cluster(self.repository / folder, text)
        return text

    def commit(self, message: str) -> None:
        """Commit everything, without showing it."""
        self.run("git", "add", "--all")
        self.run("git", "commit", "--quiet", "--message", message)


def say(text: str) -> None:
    """One line or several, at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def title(text: str) -> None:
    """Begin a part."""
    say(f"\n\n── {text} {'─' * max(0, 96 - len(text))}")


def write_cluster(folder: Path, manifest: str) -> None:
    """A cluster's folder, as ``flux bootstrap`` lays it out."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MANIFEST).write_text(manifest, encoding="utf-8")
    (folder / "kustomization.yaml").write_text(
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
        f"resources:\n- {MANIFEST}\n- gotk-sync.yaml\n"
    )
    (folder / "gotk-sync.yaml").write_text(
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\n"
        "metadata:\n  name: fleet\n  namespace: fleet\n"
        "spec:\n  interval: 1m0s\n  ref:\n    branch: main\n  url: https://git.example.com/fleet\n"
    )


def edited(text: str, controller: str, old: str, new: str) -> str:
    """The manifest with one edit, in the Deployment of one controller."""
    documents = text.split("---\n")
    for index, document in enumerate(documents):
        if "kind: Deployment\n" in document and f"\n  name: {controller}\n" in document and old in document:
            documents[index] = document.replace(old, new, 1)
            return "---\n".join(documents)
    raise Surprise(f"the demo's manifest has no {old.strip()} for {controller}")


def telling(diff: str) -> Iterator[str]:
    """The hunks that tell something: neither labels alone nor the inside of CRDs."""
    shown: list[str] = []
    left_out = 0
    for part in diff.replace("\n@@ ", "\n\0@@ ").split("\0"):
        changed = [line for line in part.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
        labels_alone = all("app.kubernetes.io/version:" in line for line in changed)
        if part.startswith("@@") and (labels_alone or "openAPIV3Schema" in part or "controller-gen" in part):
            left_out += 1
        else:
            shown.append(part)
    yield "".join(shown).rstrip("\n")
    yield f"({left_out} hunks of version labels and CRDs are left out here)"


def build_repository(stage: Stage) -> None:
    """Two clusters, each with something that a plain regeneration would lose or get wrong."""
    flags = ("--namespace=fleet", "--registry=registry.example.com/flux")
    staging = stage.render(STAGING, "--version=v2.8.7", *flags, "--toleration-keys=dedicated")
    staging = edited(staging, "kustomize-controller", "  replicas: 1\n", "  replicas: 2\n")
    staging = edited(
        staging,
        "helm-controller",
        "            memory: 1Gi\n",
        "            memory: 2Gi # the charts are large\n",
    )
    leader = "        - --enable-leader-election\n"
    staging = edited(staging, "source-controller", leader, f"{leader}        - --concurrent=20\n")
    write_cluster(stage.repository / STAGING, staging)
    say("  … and by hand: replicas, a memory limit with a comment, an argument")

    production = stage.render(
        PRODUCTION, "--version=v2.8.7", *flags, "--network-policy=false", "--log-level=debug"
    )
    production = production.replace("# Flux Version: v2.8.7", "# Flux Version: v2.9.4")
    production = production.replace("/source-controller:v1.8.7", "/source-controller:v1.9.3")
    write_cluster(stage.repository / PRODUCTION, production)
    say("  … and by a bot: the header says v2.9.4 over the old body, one image runs ahead")


def perform(stage: Stage) -> None:
    """The demo, part by part."""
    stage.run("git", "init", "--quiet", "--initial-branch=main")
    title("A repository with two clusters")
    build_repository(stage)
    stage.commit("Two clusters")

    title("What is really there, with the proof")
    stage.show("flux-upgrade", "inspect", *SOURCE)

    title("What an upgrade would change")
    preview = ("flux-upgrade", "upgrade", "--dry-run", *SOURCE, PRODUCTION)
    say(f"\n$ {shlex.join(preview)}")
    for lines in telling(stage.run(*preview).partition("\n\n")[0]):
        say(lines)

    title("The upgrade: flags and edits are kept, and nothing else is touched")
    stage.show("flux-upgrade", "upgrade", *SOURCE)
    stage.show("git", "diff", "--stat=100")
    stage.show("git", "grep", "-nE", "replicas: 2|memory: 2Gi|--concurrent", "--", STAGING)
    stage.commit("Flux v2.9.4")

    title("A second run changes nothing")
    stage.show("flux-upgrade", "upgrade", *SOURCE)
    if stage.show("git", "status", "--short"):
        raise Surprise("the second run changed something")

    title("The release changed what was edited by hand: nothing is written")
    text = stage.render(EDGE, "--version=v2.8.8", "--namespace=fleet")
    old, new = ("            cpu: 1000m\n", "            cpu: 1500m\n")
    write_cluster(stage.repository / EDGE, edited(text, "helm-controller", old, new))
    say("  … and by hand: helm-controller's CPU limit, which v2.9 changes as well")
    stage.commit("A third cluster")
    stage.show("flux-upgrade", "upgrade", *SOURCE, "clusters/edge", ends_with=CONFLICT)
    if stage.show("git", "status", "--short"):
        raise Surprise("a conflict was written")


def main() -> int:
    """Perform in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="flux-upgrade-demo-") as folder:
        repository = Path(folder, "fleet")
        repository.mkdir()
        say("The releases used here were written for this demo; they have the shape of Flux's, in small.")
        written_release.write_source(Path(folder, "releases"))
        try:
            perform(Stage(repository))
        except Surprise as surprise:
            sys.stderr.write(f"demo: {surprise}\n")
            return 1
    say("\n\nThat was the demo. In your own repository begin with: flux-upgrade upgrade --dry-run")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
