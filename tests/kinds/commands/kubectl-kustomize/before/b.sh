VERSION=$(yq .spec.ref.tag flux.yaml)
cat <<EOF > kustomization.yaml
resources:
  - github.com/fluxcd/flux2/manifests/install?ref=$VERSION
EOF
