FLUX=v2.8.8
if [ "$1" = next ]; then
  FLUX=v2.9.0
fi
flux install --version "$FLUX"
