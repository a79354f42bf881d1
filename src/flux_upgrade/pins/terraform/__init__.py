"""Terraform's ``flux_bootstrap_git``."""
