#!/bin/sh
# Renders the chart in both modes, and for a state in a bucket, into rendered/, where tests that have no Helm check the
# manifests. Run it after a change.
set -eu
cd "$(dirname "$0")"
for variant in embedded delta bucket; do
  case $variant in
    bucket) set -- --set mode=delta --set delta.state=s3a://billing/telecom ;;
    *) set -- --set "mode=$variant" ;;
  esac
  helm lint --strict --quiet chronicle -f rendered/values.yaml "$@"
  helm template telecom chronicle --namespace billing --kube-version 1.34.1 -f rendered/values.yaml "$@" >"rendered/$variant.yaml"
done
# What they were rendered from: a chart that has changed since is noticed without Helm too.
find chronicle rendered/values.yaml -type f | LC_ALL=C sort | xargs sha256sum >rendered/made-from
