curl -s https://fluxcd.io/install.sh | sudo bash
