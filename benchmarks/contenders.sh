#!/bin/sh
# `make contenders`: what the benchmarks compare with, where it is not a dependency of ours. What cannot be installed is
# said here and in the results; nothing stops for it.
cd "$(dirname "$0")" || exit 1
python="${1:-python3}"
cache="${XDG_CACHE_HOME:-$HOME/.cache}/chronicle"
jars="${CHRONICLE_JARS:-$cache/jars}"
missing() { echo "$1 could not be installed: the results will say so" >&2; }

"$python" -c 'import polars' 2>/dev/null ||
  "$python" -m pip install --quiet --disable-pip-version-check polars || missing Polars

stamp="$jars/flink/.$(cksum <flink/pom.xml | cut -d ' ' -f 1)"
if [ ! -f "$stamp" ]; then
  echo "copying the jars of Flink into $jars/flink"
  { command -v mvn >/dev/null 2>&1 && mvn -q -B -f flink/pom.xml package -Dchronicle.jars="$jars" && touch "$stamp"; } || missing Flink
fi

# Pathway has an environment of its own: its dependencies are not ours.
pathway="$jars/../pathway"
if [ ! -f "$pathway/.ready" ]; then
  echo "installing Pathway into $pathway"
  { "$python" -m venv "$pathway" && "$pathway/bin/python" -m pip install --quiet --disable-pip-version-check pathway &&
    touch "$pathway/.ready"; } || missing Pathway
fi
