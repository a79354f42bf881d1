kubectl wait kustomizations.v1beta2.kustomize.toolkit.fluxcd.io/apps --for=condition=ready
cat <<EOF | kubectl apply -f -
apiVersion: source.toolkit.fluxcd.io/v1beta1
kind: GitRepository
metadata:
  name: $NAME
EOF
