FROM ghcr.io/fluxcd/flux-cli:v2.8.8
