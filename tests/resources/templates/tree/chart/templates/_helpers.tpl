{{- define "api" -}}
source.toolkit.fluxcd.io/v1beta2
{{- end -}}
