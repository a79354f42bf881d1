"""The FluxInstance of the flux-operator."""
