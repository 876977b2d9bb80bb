"""What Spark makes of workers that fail it, and what is said of that."""

from __future__ import annotations

import pytest

from streaming.failures import explained


@pytest.mark.parametrize(
    ("thrown", "said"),
    [  # as Spark's exceptions end
        ("org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)", "died, one after another"),
        ("org.apache.spark.SparkException: Python worker failed to connect back.", "the machine is too busy"),
        (
            "java.io.IOException: Timed out while waiting for the Python worker to connect back",
            "the machine is too busy",
        ),
        ("org.apache.spark.SparkException: something else", "Spark: org.apache.spark.SparkException: something else"),
    ],
)
def test_a_worker_that_did_not_start_is_not_taken_for_one_that_died(thrown: str, said: str) -> None:
    text = f"Job aborted due to stage failure: Task 0 in stage 7.0 failed 4 times\n{thrown}\n\tat org.apache.spark"
    error = explained(RuntimeError(text))
    assert said in error.message
    assert error.hint
