$version = "2.8.8"
Invoke-WebRequest "https://github.com/fluxcd/flux2/releases/download/v$version/flux_${version}_windows_amd64.zip"
