#!/bin/sh
# flux install --version v2.8.8
kubectl apply -k github.com/fluxcd/flux2-kustomize-helm-example//clusters/staging
echo 'flux install --version v2.8.8'
flux reconcile source git flux-system --version
influx install --version v2.8.8
