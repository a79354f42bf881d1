"""The flux-operator's own release: chart, image, manifests."""
