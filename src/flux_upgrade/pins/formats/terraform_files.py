"""How the names of Terraform's and OpenTofu's files end."""

from __future__ import annotations

TERRAFORM_FILES = (".tf", ".tofu", ".tf.json", ".tofu.json")
