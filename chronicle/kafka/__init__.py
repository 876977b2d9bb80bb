"""Kafka beside Spark: appending into topics, making them, and a broker of one's own for trying out."""
