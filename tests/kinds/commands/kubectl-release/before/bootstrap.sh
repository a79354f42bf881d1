#!/usr/bin/env bash
# kubectl apply -f https://github.com/fluxcd/flux2/releases/download/v2.0.0/install.yaml
kubectl apply -f https://github.com/fluxcd/flux2/releases/download/v2.8.8/install.yaml
