FLUX=$(cat .flux-version)
flux install --version ${FLUX}
flux install --version ${OTHER:-v2.0.0}
