curl -s https://fluxcd.io/install.sh | sudo FLUX_VERSION=2.8.8 bash
