export FLUX_VERSION=2.7.5
curl -s https://fluxcd.io/install.sh | sudo -E bash
