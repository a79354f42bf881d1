kubectl apply -k 'https://github.com/fluxcd/flux2//manifests/install?ref=main'
kubectl apply -k 'https://github.com/fluxcd/flux2//manifests/install?ref=3e8d1ae1d5e66709b53aacfa64e38bc70bc4ea9a'
flux install --version v2.8
