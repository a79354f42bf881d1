"""Each command prints its result and nothing else, and an error is one line without secrets."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
import written_release

from flux_upgrade import main
from flux_upgrade.manifests.options import InstallOptions
from memory import rendered


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(written_release.write_source(tmp_path_factory.mktemp("releases") / "source"))


def run(*argv: str, env: dict[str, str] | None = None) -> tuple[int, str, str]:
    out, err = io.BytesIO(), io.StringIO()
    code = main.run(argv, {"PATH": "", **(env or {})}, out, err)
    return code, out.getvalue().decode(), err.getvalue()


def test_render_prints_the_manifest_and_nothing_else(source: str) -> None:
    code, out, err = run("render", f"--release-source={source}", "--version=v2.8.8")
    assert (code, out, err) == (0, rendered(InstallOptions("v2.8.8")), "")


def test_render_without_a_version_takes_the_newest(source: str) -> None:
    assert run("render", f"--release-source={source}")[1] == rendered(InstallOptions("v2.9.4"))


def test_an_unverified_release_is_reported(tmp_path: Path) -> None:
    source = written_release.write_source(tmp_path / "source", ("v2.9.4",))
    (source / "v2.9.4" / "flux_2.9.4_checksums.txt").unlink()
    code, _, err = run("render", f"--release-source={source}", "--version=v2.9.4")
    assert code == 0
    assert "no-checksum" in err
    manifest = tmp_path / "gotk-components.yaml"
    manifest.write_text(rendered(InstallOptions("v2.9.4")))
    written_release.write_release(source, "v2.9.3", written_release.files("v2.9.3"))
    manifest.write_text(rendered(InstallOptions("v2.9.3")))
    code, out, _ = run("upgrade", str(manifest), f"--release-source={source}", "--to=v2.9.4")
    assert code == 0
    assert "no-checksum" in out


@pytest.mark.parametrize(
    ("argv", "code", "message"),
    [
        (["render", "--version=v2.9.9"], 4, "release-not-found"),
        (["render", "--version=../../etc"], 4, "release-not-found"),
        (["render", "--version=v2.9.4", "--components=helm-controler"], 2, "did you mean 'helm-controller'?"),
        (["render", "--version=v2.6.4", "--components-extra=source-watcher"], 2, "source-watcher"),
        (["render", "--version=v2.9.4", "--namespace=true"], 2, "not a string in YAML"),
        (["inspect", "no/such/path"], 2, "no/such/path"),
        (["upgrade", "no/such/path"], 2, "no/such/path"),
        (["render", "--version=v2.9.4", "--release-source=ftp://x"], 2, "ftp://x"),
        (["render", "--version=v2.9.4", "--release-source=no/such/folder"], 4, "no/such/folder"),
    ],
)
def test_bad_input(argv: list[str], code: int, message: str, source: str) -> None:
    if not any(argument.startswith("--release-source") for argument in argv):
        argv = [*argv, f"--release-source={source}"]
    found, out, err = run(*argv)
    assert (found, out) == (code, "")
    assert message in err
    assert err.startswith("flux-upgrade: ")
    assert len(err.splitlines()) == 2, "one line that says what is wrong, one that says what to do"
    assert "Traceback" not in err


def test_a_tampered_archive(tmp_path: Path) -> None:
    source = written_release.write_source(tmp_path / "source", ("v2.9.4",))
    archive = source / "v2.9.4" / "manifests.tar.gz"
    archive.write_bytes(written_release.archive(written_release.files("v2.9.3")))
    code, out, err = run("render", f"--release-source={source}", "--version=v2.9.4")
    assert (code, out) == (4, "")
    assert "untrusted-archive" in err


def test_nothing_found(tmp_path: Path, source: str) -> None:
    (tmp_path / "a.yaml").write_text("a: b\n")
    for path in (tmp_path, tmp_path / "a.yaml"):
        code, out, err = run("upgrade", str(path), f"--release-source={source}")
        assert (code, out) == (6, "")
        assert "nothing-found" in err
    code, out, _ = run("inspect", "--json", str(tmp_path), f"--release-source={source}")
    report = json.loads(out)
    assert (code, report["installations"], report["pins"], set(report["counts"].values())) == (6, [], [], {0})


def test_an_unexpected_error_is_one_line_without_the_token(tmp_path: Path) -> None:
    """An error of ours, made by an environment that no process has."""

    class Broken(dict[str, str]):
        def get(self, key: str, default: object = None) -> object:  # type: ignore[override] # broken on purpose
            if key == "PATH":
                raise RuntimeError("sesame open")
            return super().get(key, "") or default

    out, err = io.BytesIO(), io.StringIO()
    assert main.run(["inspect", str(tmp_path)], Broken(GITHUB_TOKEN="sesame"), out, err) == 1
    assert err.getvalue().startswith("flux-upgrade: RuntimeError at test_cli.py:")
    assert err.getvalue().splitlines()[0].endswith("[unexpected]")
    assert "sesame" not in err.getvalue()
    assert "Traceback" not in err.getvalue()
    err = io.StringIO()
    broken = Broken(GITHUB_TOKEN="sesame", FLUX_UPGRADE_DEBUG="1")
    assert main.run(["inspect", str(tmp_path)], broken, out, err) == 1
    assert "Traceback" in err.getvalue()
    assert "sesame" not in err.getvalue()


def test_terminal_escapes_of_a_file_are_not_printed(tmp_path: Path, source: str) -> None:
    text = rendered(InstallOptions("v2.9.4")).replace("  replicas: 1\n", '  replicas: 1\n  x: "\\e[31m"\n', 1)
    (tmp_path / "gotk-components.yaml").write_text(text)
    code, out, _ = run("inspect", str(tmp_path), f"--release-source={source}")
    assert code == 0
    assert "\x1b" not in out


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    for argv in (["--help"], ["render", "--help"], ["--version"]):
        with pytest.raises(SystemExit) as caught:
            run(*argv)
        assert caught.value.code == 0
        assert capsys.readouterr().out
