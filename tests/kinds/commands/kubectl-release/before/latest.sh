kubectl apply -f "https://github.com/fluxcd/flux2/releases/latest/download/install.yaml" && sleep 5
