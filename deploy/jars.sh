#!/bin/sh
# Copies exactly the jars of deploy/pom.xml into the cache that later runs reuse; quick where they are there already.
cd "$(dirname "$0")" || exit 1
cache="${CHRONICLE_JARS:-${XDG_CACHE_HOME:-$HOME/.cache}/chronicle/jars}"
stamp="$cache/.$(cksum <pom.xml | cut -d ' ' -f 1)"
[ -f "$stamp" ] && exit 0
if ! command -v mvn >/dev/null 2>&1; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing Maven with apt-get"
    apt-get update -qq && apt-get install -y -qq --no-install-recommends maven || exit 1
  else
    echo "Kafka and Delta need jars, and Maven copies them: install maven, then run make jars again." >&2
    exit 1
  fi
fi
echo "copying the Kafka and Delta jars into $cache"
mkdir -p "$cache" && mvn -q -B -f pom.xml package -Dchronicle.jars="$cache" && touch "$stamp"
