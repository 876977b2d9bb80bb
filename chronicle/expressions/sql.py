"""What the DuckDB and the Spark writers share: the constructs that both engines spell alike.

An operand's text is never repeated, or nested expressions would grow exponentially: a form that needs an operand
several times gives it a name first (`let`). A column or a constant may be repeated.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import assert_never

from chronicle.expressions.arithmetic import Abs, Arithmetic, Negate, Round
from chronicle.expressions.conditions import And, Comparison, In, IsNull, Like, Not, Or
from chronicle.expressions.failing import can_fail
from chronicle.expressions.functions import ChangeCase, Concat, DateTrunc, Extract, Length, Substr
from chronicle.expressions.leaves import ColumnRef, Literal
from chronicle.expressions.nodes import Case, Cast, Coalesce, Expression, Extreme

Columns = Callable[[str], str]


class SqlWriter(ABC):
    """One `write` for each dialect; every text that it returns can stand as an operand."""

    def __init__(self, column: Columns) -> None:
        self.column = column
        self._names = 0

    def write(self, expression: Expression) -> str:
        match expression:
            case Literal():
                return self.literal(expression)
            case ColumnRef(name):
                return self.column(name)
            case Negate(operand):
                return self.negation(operand)
            case Abs(operand):
                return self.absolute(operand)
            case Arithmetic():
                return self.arithmetic(expression)
            case Round():
                return self.rounding(expression)
            case Comparison(operator, left, right):
                return self.strict(
                    (left, right), lambda a, b: f"({self.tested(left, a)} {operator} {self.tested(right, b)})"
                )
            case And(operands):
                return self.junction("AND", operands)
            case Or(operands):
                return self.junction("OR", operands)
            case Not(operand):
                return f"(NOT {self.write(operand)})"
            case IsNull(operand):
                return f"({self.tested(operand, self.write(operand))} IS NULL)"
            case In(operand, items):
                listed = ", ".join(map(self.write, items))
                return f"({self.tested(operand, self.write(operand))} IN ({listed}))"
            case Like():
                return self.like(expression)
            case Case(branches, otherwise):
                whens = "".join(f" WHEN {self.write(when)} THEN {self.write(then)}" for when, then in branches)
                return f"(CASE{whens} ELSE {self.write(otherwise)} END)"
            case Cast():
                return self.cast(expression)
            case Coalesce(operands):
                return f"coalesce({self._list(operands)})"
            case Extreme(greatest, operands):
                return f"{'greatest' if greatest else 'least'}({self._list(operands)})"
            case ChangeCase():
                return self.change_case(expression)
            case Length(operand):
                return f"CAST(length({self.write(operand)}) AS BIGINT)"
            case Substr():
                return self.substr(expression)
            case Concat(operands):
                return self.strict(operands, lambda *parts: f"({' || '.join(parts)})")
            case Extract():
                return self.extract(expression)
            case DateTrunc():
                return self.date_trunc(expression)
        assert_never(expression)

    def _list(self, operands: Sequence[Expression]) -> str:
        return ", ".join(self.write(operand) for operand in operands)

    def tested(self, operand: Expression, text: str) -> str:
        """The text of an operand that is compared, so that the engine computes it and not just the comparison."""
        return text

    def negation(self, operand: Expression) -> str:
        return f"(- {self.write(operand)})"

    def absolute(self, operand: Expression) -> str:
        return f"abs({self.write(operand)})"

    def junction(self, word: str, operands: tuple[Expression, ...]) -> str:
        """Engines stop at the operand that decides. Where one of the others may be an error, all are evaluated."""
        if not any(can_fail(operand) for operand in operands):
            return f"({f' {word} '.join(self.write(operand) for operand in operands)})"
        ranks = ", ".join(f"coalesce(CAST({self.write(operand)} AS INT) * 2, 1)" for operand in operands)
        return self.of_rank(f"{'least' if word == 'AND' else 'greatest'}({ranks})")

    def repeatable(self, operand: Expression) -> bool:
        return isinstance(operand, ColumnRef | Literal)

    def let(self, operands: Sequence[Expression], body: Callable[..., str]) -> str:
        """`body` over texts that it may repeat: those of the operands, or names that stand for their values."""
        if all(self.repeatable(operand) for operand in operands):
            return body(*(self.write(operand) for operand in operands))
        return self.named([self.write(operand) for operand in operands], body)

    def fresh_name(self) -> str:
        self._names += 1
        return f"v{self._names}"

    @abstractmethod
    def named(self, texts: Sequence[str], body: Callable[..., str]) -> str:
        """`body` over names for the values of `texts`, each evaluated once."""

    @abstractmethod
    def strict(self, operands: Sequence[Expression], body: Callable[..., str]) -> str:
        """`body`, which is null where any operand is, over operands that are all evaluated."""

    @abstractmethod
    def of_rank(self, rank: str) -> str:
        """The truth value of a rank: 0 is false, 1 null, 2 true."""

    @abstractmethod
    def literal(self, literal: Literal) -> str: ...

    @abstractmethod
    def arithmetic(self, expression: Arithmetic) -> str: ...

    @abstractmethod
    def rounding(self, expression: Round) -> str: ...

    @abstractmethod
    def like(self, expression: Like) -> str: ...

    @abstractmethod
    def cast(self, expression: Cast) -> str: ...

    @abstractmethod
    def change_case(self, expression: ChangeCase) -> str: ...

    @abstractmethod
    def substr(self, expression: Substr) -> str: ...

    @abstractmethod
    def extract(self, expression: Extract) -> str: ...

    @abstractmethod
    def date_trunc(self, expression: DateTrunc) -> str: ...
