flux bootstrap github \
  --owner=example \
  --version="v2.7.5" \
  --path=clusters/a
flux bootstrap git --url=ssh://git@example.com/fleet
flux install -v 2.8.0
flux --version
flux install --export
