FROM ghcr.io/fluxcd/flux-cli:v2.9.4
