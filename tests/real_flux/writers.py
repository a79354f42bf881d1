"""What else writes objects of Flux in a cluster: Helm, and OpenTofu with the provider of `kubectl_manifest`."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import yaml

from real_flux.control_plane import ControlPlane, Object
from real_flux.programs import KUBECTL_PROVIDER, program

_TOFU = """terraform {{
  required_providers {{
    kubectl = {{ source = "gavinbunney/kubectl" }}
  }}
}}
provider "kubectl" {{
  config_path      = "{kubeconfig}"
  load_config_file = true
}}
resource "kubectl_manifest" "object" {{
  yaml_body = file("${{path.module}}/object.yaml")
}}
"""
_SETTINGS = """provider_installation {{
  dev_overrides {{
    "gavinbunney/kubectl" = "{folder}"
  }}
  direct {{}}
}}
"""


def helm(plane: ControlPlane, folder: Path, written: Object) -> None:
    """A release of a chart that holds the object."""
    chart = folder / "chart"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: objects\nversion: 1.0.0\n")
    (chart / "templates" / "object.yaml").write_text(yaml.safe_dump(written))
    words = ("upgrade", "objects", str(chart), "--install", "--namespace=flux-system", "--take-ownership")
    _run(folder, {}, str(program("helm")), *words, f"--kubeconfig={plane.server.kubeconfig}")


def tofu(plane: ControlPlane, folder: Path, written: Object) -> None:
    """A `kubectl_manifest`."""
    folder.mkdir(parents=True)
    (folder / "object.yaml").write_text(json.dumps(written))
    (folder / "main.tf").write_text(_TOFU.format(kubeconfig=plane.server.kubeconfig))
    settings = folder / "settings.tfrc"
    settings.write_text(_SETTINGS.format(folder=KUBECTL_PROVIDER.path.parent))
    env = {"TF_CLI_CONFIG_FILE": str(settings), "TF_IN_AUTOMATION": "1"}
    _run(folder, env, str(program("tofu")), "apply", "-auto-approve", "-input=false", "-no-color")


def _run(folder: Path, env: dict[str, str], *command: str) -> None:
    own = {"HOME": str(folder), "PATH": "/usr/bin:/bin", **env}
    ran = subprocess.run(command, cwd=folder, env=own, check=False, capture_output=True, text=True, timeout=120)  # noqa: S603  (ours)
    assert ran.returncode == 0, ran.stdout + ran.stderr
