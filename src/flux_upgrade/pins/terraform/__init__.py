"""Terraform and OpenTofu: ``flux_bootstrap_git``, and other ways in which they install Flux."""
