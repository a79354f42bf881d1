"""What an upgrade does to the kustomization beside a manifest."""
