"""Views over chronicles: algebra, checker, aggregates, plans and kernels, state, lookups; nothing here knows Spark."""
