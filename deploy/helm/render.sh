#!/bin/sh
# Renders the chart in both modes into rendered/, where tests that have no Helm check the manifests. Run it after a change.
set -eu
cd "$(dirname "$0")"
for mode in embedded delta; do
  helm lint --strict --quiet chronicle -f rendered/values.yaml --set "mode=$mode"
  helm template telecom chronicle --namespace billing --kube-version 1.34.1 -f rendered/values.yaml --set "mode=$mode" >"rendered/$mode.yaml"
done
# What they were rendered from: a chart that has changed since is noticed without Helm too.
find chronicle rendered/values.yaml -type f | LC_ALL=C sort | xargs sha256sum >rendered/made-from
