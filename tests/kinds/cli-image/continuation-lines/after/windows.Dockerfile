# syntax=docker/dockerfile:1
# escape=`
FROM mcr.microsoft.com/windows/nanoserver:ltsc2022
COPY `
  --from=ghcr.io/fluxcd/flux-cli:v2.9.4 C:\flux.exe C:\
COPY --from=ghcr.io/fluxcd/flux-cli:v2.9.4 C:\flux.exe C:\
