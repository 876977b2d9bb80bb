"""How fast, beside what people would use instead, and how the cost grows: `make bench` writes RESULTS.md."""
