kubectl apply -k https://github.com/fluxcd/flux2/manifests/install?ref=v2.1.0 \
  --server-side
kustomize build 'github.com/fluxcd/flux2//manifests/crds?ref=v2.1.1' | kubectl apply -f -
kubectl apply -k github.com/fluxcd/flux2/manifests/install
