# syntax=docker/dockerfile:1
# escape=`
FROM mcr.microsoft.com/windows/nanoserver:ltsc2022
COPY `
  --from=ghcr.io/fluxcd/flux-cli:v2.8.8 C:\flux.exe C:\
COPY --from=ghcr.io/fluxcd/flux-cli:v2.8.7 C:\flux.exe C:\
