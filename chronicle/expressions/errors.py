"""What can be wrong with an expression: when it is bound (ExpressionError) or when it meets a row (EvaluationError)."""

from __future__ import annotations

from enum import StrEnum

from chronicle.errors import ChronicleError


class ExpressionCode(StrEnum):
    """Stable codes of what the binder finds; the two of the clock and of chance are those of the checker."""

    UNKNOWN_COLUMN = "CH301"
    AMBIGUOUS_COLUMN = "CH302"
    NOT_IN_THE_LANGUAGE = "CH303"
    WRONG_TYPE = "CH304"
    WRONG_ARGUMENTS = "CH305"
    TOO_MANY_DIGITS = "CH306"
    WRONG_CONSTANT = "CH307"
    CONSTANT_FAILS = "CH308"
    SYNTAX = "CH309"
    TOO_LARGE = "CH310"
    AGGREGATE = "CH311"
    CLOCK = "CH122"
    CHANCE = "CH123"


class ExpressionError(ChronicleError):
    """An expression that has no meaning here; `offset` is where in its text, `fix` is valid when pasted."""

    exit_code = 3

    def __init__(self, code: str, what: str, why: str = "", fix: str = "", offset: int | None = None) -> None:
        super().__init__(what, fix)
        self.code = str(code)
        self.what = what
        self.why = why
        self.fix = fix
        self.offset = offset


class EvaluationError(ChronicleError):
    """A value that an expression cannot compute: an overflow, or a text that is not what it is cast to."""
