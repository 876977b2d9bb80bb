#!/bin/sh
# Spark needs Java 17 or 21. Finds it, installs it with apt-get where that is allowed, otherwise says what to do.
version() { "$1" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1; }
fits() { case "$1" in 17 | 21) return 0 ;; *) return 1 ;; esac; }

[ -n "$JAVA_HOME" ] && [ -x "$JAVA_HOME/bin/java" ] && fits "$(version "$JAVA_HOME/bin/java")" && exit 0
command -v java >/dev/null 2>&1 && fits "$(version java)" && exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "installing Java 17 with apt-get"
  apt-get update -qq && apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless && exit 0
fi
echo "Spark needs Java 17 or 21, and none was found. Install one (for example openjdk-17-jre-headless) or set JAVA_HOME." >&2
exit 1
