"""How the names of Terraform's and OpenTofu's files end."""

from __future__ import annotations

TERRAFORM_FILES = (".tf", ".tofu", ".tf.json", ".tofu.json")
VALUES = (".tfvars", ".tfvars.json")


def is_for_terraform(path: str) -> bool:
    """Return whether a change of the file has no effect before Terraform applies it."""
    return path.endswith((*TERRAFORM_FILES, *VALUES))
