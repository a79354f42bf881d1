"""Real Git servers on loopback: smart HTTP by ``git http-backend``, SSH by ``sshd``."""

from __future__ import annotations

import base64
import os
import pwd
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import TracebackType
from typing import Self

from loopback_server import LoopbackServer

from real_parts import missing, require_program

WRITE, READ = "write-token-3f9c", "read-token-81ab"
"""What the HTTP server takes as a password."""

_RECORD = """#!/bin/sh
{{ for number in $(seq 0 $((${{GIT_PUSH_OPTION_COUNT:-0}} - 1))); do
  eval "printf 'option %s\\\\n' \\"\\$GIT_PUSH_OPTION_$number\\""; done
cat; echo; }} >> "{record}"
{more}
"""


def git(*arguments: str | Path, at: Path | None = None, more: Mapping[str, str] | None = None) -> str:
    """Run git as a person would, on a machine without any configuration."""
    done = subprocess.run(  # noqa: S603  (ours)
        [require_program("git"), *map(str, arguments)],
        cwd=at,
        env={**PERSON, **(more or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise AssertionError(f"git {arguments}: {done.stderr}")
    return done.stdout.removesuffix("\n")


PERSON = {
    "PATH": os.environ.get("PATH", os.defpath),  # noqa: TID251  (where git is)
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "Ann",
    "GIT_AUTHOR_EMAIL": "ann@example.com",
    "GIT_COMMITTER_NAME": "Ann",
    "GIT_COMMITTER_EMAIL": "ann@example.com",
    "GIT_TERMINAL_PROMPT": "0",
    "NO_PROXY": "127.0.0.1",
}


def give_away(folder: Path) -> None:
    """Make a folder somebody else's, as a container finds its workspace."""
    if os.getuid() != 0:
        missing("only root may give files away")
    for path in (folder, *folder.rglob("*")):
        os.chown(path, 12345, 12345, follow_symlinks=False)


@dataclass(frozen=True)
class Bare:
    """A repository at a server, and what its hooks saw."""

    folder: Path

    @classmethod
    def make(cls, folder: Path, *, sha256: bool = False, with_filter: bool = True) -> Bare:
        kind = "sha256" if sha256 else "sha1"
        git("init", "--quiet", "--bare", "--initial-branch=main", f"--object-format={kind}", folder)
        bare = cls(folder)
        for key, value in (("http.receivepack", "true"), ("receive.advertisePushOptions", "true")):
            git("config", key, value, at=folder)
        if with_filter:
            git("config", "uploadpack.allowFilter", "true", at=folder)
        bare.hook()
        return bare

    @property
    def _record(self) -> Path:
        return self.folder / "pushes.txt"

    def hook(self, more: str = "", name: str = "pre-receive") -> None:
        """Record options and refs of each push, then run ``more`` (sh)."""
        self.write_hook(name, _RECORD.format(record=self._record, more=more))

    def write_hook(self, name: str, script: str) -> None:
        path = self.folder / "hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(script)
        path.chmod(0o755)

    def answer(self, *lines: str) -> None:
        """Say something after each push, as forges do."""
        said = "\n".join(f"echo '{line}'" for line in lines)
        self.write_hook("post-receive", f"#!/bin/sh\ncat > /dev/null\necho\n{said}\necho\n")

    def take_agit(self) -> None:
        """Take pushes to refs/for/<base>, as Gitea and Forgejo do."""
        git("config", "receive.procReceiveRefs", "refs/for", at=self.folder)
        hook = Path(__file__).with_name("agit_hook.py").read_text()
        self.write_hook("proc-receive", f"#!{sys.executable}\n{hook}")

    def options(self) -> list[str]:
        """Push options of all pushes that got as far as the hook."""
        lines = self._record.read_text().splitlines() if self._record.exists() else []
        return [line.removeprefix("option ") for line in lines if line.startswith("option ")]

    def pushes(self) -> int:
        lines = self._record.read_text().splitlines() if self._record.exists() else []
        return len([line for line in lines if " refs/" in line])

    def refs(self) -> dict[str, str]:
        listing = git("for-each-ref", "--format=%(refname) %(objectname)", at=self.folder)
        return dict(line.split(" ") for line in listing.splitlines())

    def show(self, what: str) -> str:
        return git("show", "--no-patch", "--format=%B", what, at=self.folder)

    def content(self, what: str) -> str:
        return git("cat-file", "blob", what, at=self.folder)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def _serve(self) -> None:
        host = self.server.site
        header = self.headers.get("Authorization", "")
        host.seen.append((self.path, header))
        body = self._body()
        secret = base64.b64decode(header.removeprefix("Basic ")).decode() if header else ""
        token = secret.partition(":")[2]
        if host.redirect:
            self._answer(302, {"Location": host.redirect + self.path}, b"")
        elif host.status:
            self._answer(host.status, {}, b"broken")
        elif token not in (WRITE, READ):
            self._answer(401, {"WWW-Authenticate": 'Basic realm="git"'}, b"who are you?")
        elif "git-receive-pack" in self.path and token != WRITE:
            self._answer(403, {"Content-Type": "text/plain"}, b"You are not allowed to push code to this project.")
        else:
            self._backend(body)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _backend(self, body: bytes) -> None:
        path, _, query = self.path.partition("?")
        done = subprocess.run(  # noqa: S603  (ours)
            [require_program("git"), "http-backend"],
            env={
                **PERSON,
                "GIT_PROJECT_ROOT": str(self.server.site.root),
                "GIT_HTTP_EXPORT_ALL": "1",
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "REQUEST_METHOD": self.command,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": str(len(body)),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "REMOTE_USER": "bot",
                "REMOTE_ADDR": "127.0.0.1",
            },
            input=body,
            capture_output=True,
            check=False,
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().splitlines() if ": " in line)
        self._answer(int(headers.pop("Status", "200").split()[0]), headers, content)

    def _answer(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.server.site.sent += len(body)
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the name is http.server's)
        del format, args


class _Server(LoopbackServer):
    def __init__(self, site: HttpHost) -> None:
        super().__init__(_Handler, site.tls)
        self.site = site


@dataclass
class HttpHost:
    """Repositories below ``root`` over smart HTTP; nobody reads without one of the tokens."""

    root: Path
    status: int = 0
    """Answer with this to everything."""
    redirect: str = ""
    seen: list[tuple[str, str]] = field(default_factory=list)
    """Path and Authorization of each request."""
    sent: int = 0
    """Bytes of all answers' bodies."""
    tls: ssl.SSLContext | None = None

    def __enter__(self) -> Self:
        if not (Path(git("--exec-path")) / "git-http-backend").exists():
            missing("there is no git http-backend")
        self._server = _Server(self)
        self._server.start()
        self.url = self._server.url
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.stop()


class SshHost:
    """An sshd for the user who runs the tests, with a key that writes and a deploy key that reads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._allowed = folder / "authorized_keys"
        folder.mkdir()

    def __enter__(self) -> Self:
        sshd = shutil.which("sshd") or "/usr/sbin/sshd"
        if not Path(sshd).exists():
            missing("there is no sshd")
        keygen = require_program("ssh-keygen")
        kinds = {"host_ecdsa": "ecdsa"}
        for name in ("host", "host_ecdsa", "writer", "reader", "stranger"):
            kind = kinds.get(name, "ed25519")
            command = [keygen, "-q", "-t", kind, "-N", "", "-f", str(self._folder / name)]
            subprocess.run(command, check=True)  # noqa: S603  (ours)
        allowed = self._allowed
        self._reading = 'command="case \\"$SSH_ORIGINAL_COMMAND\\" in git-upload-pack*) eval \\"$SSH_ORIGINAL_COMMAND\\";; *) echo \\"ERROR: The key you are authenticating with is a read only deploy key: access denied\\" >&2; exit 1;; esac" '
        allowed.write_text(self._public("writer") + "\n")
        self.allow(self._public("reader"))
        Path("/run/sshd").mkdir(exist_ok=True)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        settings = (
            f"ListenAddress 127.0.0.1\nPort {self.port}\nHostKey {self._folder}/host\nHostKey {self._folder}/host_ecdsa\n"
            f"AuthorizedKeysFile {allowed}\nStrictModes no\nUsePAM no\nPidFile none\n"
            "PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\nAcceptEnv GIT_PROTOCOL\n"
            # With SHLVL, bash does not read the user's ~/.bashrc, which may take a second.
            "SetEnv SHLVL=1\nKexAlgorithms curve25519-sha256\n"
        )
        (self._folder / "sshd_config").write_text(settings)
        self._log = self._folder / "sshd.log"
        command = [sshd, "-D", "-f", str(self._folder / "sshd_config"), "-E", str(self._log)]
        self._process = subprocess.Popen(command)  # noqa: S603  (ours)
        self._wait()
        (self._folder / "known_hosts").write_text(f"[127.0.0.1]:{self.port} {self._public('host')}\n")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait()

    def url(self, repository: Path) -> str:
        return f"ssh://{pwd.getpwuid(os.getuid()).pw_name}@127.0.0.1:{self.port}{repository}"

    def allow(self, public: str) -> None:
        """Let a key read, and no more, as a deploy key does."""
        with self._allowed.open("a") as file:
            file.write(f"{self._reading}{public}\n")

    def forget(self, public: str) -> None:
        lines = self._allowed.read_text().splitlines(keepends=True)
        self._allowed.write_text("".join(line for line in lines if public not in line))

    def host_keys(self) -> tuple[str, ...]:
        """Its own, of each kind."""
        return self._public("host"), self._public("host_ecdsa")

    def command(self, key: str, known_hosts: str = "known_hosts") -> str:
        """A GIT_SSH_COMMAND that trusts this server alone and offers one key."""
        return (
            f"ssh -F none -i {self._folder}/{key} -o IdentitiesOnly=yes -o IdentityAgent=none"
            f" -o StrictHostKeyChecking=yes -o UserKnownHostsFile={self._folder}/{known_hosts}"
            " -o GlobalKnownHostsFile=/dev/null"
        )

    def _public(self, name: str) -> str:
        return " ".join((self._folder / f"{name}.pub").read_text().split()[:2])

    def _wait(self) -> None:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        raise AssertionError(self._log.read_text())
