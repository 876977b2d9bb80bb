#!/bin/sh
# What the image starts: `driver` and `executor` are what Spark on Kubernetes asks of an image; all else is `chronicle`.
set -eu
case "${1:-}" in
  driver)
    shift
    exec "$SPARK_HOME/bin/spark-submit" \
      --conf "spark.driver.bindAddress=${SPARK_DRIVER_BIND_ADDRESS:-0.0.0.0}" \
      --conf "spark.executorEnv.SPARK_DRIVER_POD_IP=${SPARK_DRIVER_BIND_ADDRESS:-0.0.0.0}" \
      --deploy-mode client "$@"
    ;;
  executor)
    # Spark hands the options of the executor's Java over as SPARK_JAVA_OPT_0, SPARK_JAVA_OPT_1, ...
    set --
    n=0
    while eval "option=\${SPARK_JAVA_OPT_$n:-}" && [ -n "$option" ]; do
      set -- "$@" "$option"
      n=$((n + 1))
    done
    exec "$JAVA_HOME/bin/java" "$@" "-Xms$SPARK_EXECUTOR_MEMORY" "-Xmx$SPARK_EXECUTOR_MEMORY" \
      -cp "${SPARK_CLASSPATH:+$SPARK_CLASSPATH:}$SPARK_HOME/jars/*:$CHRONICLE_JARS/spark/*" \
      org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
      --driver-url "$SPARK_DRIVER_URL" --executor-id "$SPARK_EXECUTOR_ID" --cores "$SPARK_EXECUTOR_CORES" \
      --app-id "$SPARK_APPLICATION_ID" --hostname "$SPARK_EXECUTOR_POD_IP" \
      --resourceProfileId "${SPARK_RESOURCE_PROFILE_ID:-0}" --podName "${SPARK_EXECUTOR_POD_NAME:-}"
    ;;
  *)
    exec chronicle "$@"
    ;;
esac
