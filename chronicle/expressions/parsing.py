"""Text to sqlglot's syntax tree, within bounds of size and depth, so that any text ends in a tree or a clear error."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from chronicle.expressions.errors import ExpressionCode, ExpressionError

MAX_CHARACTERS = 65_536
MAX_TOKENS = 8_000
MAX_NESTING = 60
"""Of parentheses, CASE and runs of prefix operators; below it the parser cannot run out of stack."""

MAX_DEPTH = 160
"""Of the syntax tree: a chain of AND, OR or + nests as deep as it is long."""

_DIALECT = Dialect.get_or_raise(None)
_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END})
_PREFIXES = frozenset({TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE, TokenType.CASE})


def parse(text: str) -> exp.Expr:
    """The syntax tree of one expression; its leaves know their offsets in the text (`meta["start"]`)."""
    tokens = _bounded_tokens(text)
    try:
        trees = _DIALECT.parser().parse_into(exp.Expr, tokens, text)
    except SqlglotError as error:
        raise _syntax(error, text) from None
    except RecursionError:
        raise _too_large("the expression is nested too deeply", None) from None
    tree = trees[0] if len(trees) == 1 else None
    if tree is None or isinstance(tree, exp.Query | exp.Block | exp.Command):
        raise ExpressionError(ExpressionCode.SYNTAX, "one expression was expected here, not a statement", offset=0)
    if _depth_of(tree) > MAX_DEPTH:
        raise _too_large(f"the expression is nested deeper than {MAX_DEPTH} levels", None)
    return tree


def offset_of(node: exp.Expr) -> int | None:
    """Where a node begins: at the first of its tokens whose position is known."""
    return min((start for part in node.walk() if (start := part.meta.get("start")) is not None), default=None)


def _bounded_tokens(text: str) -> list[Token]:
    if len(text) > MAX_CHARACTERS:
        raise _too_large(f"the expression has {len(text):,} characters; {MAX_CHARACTERS:,} at most", None)
    try:
        tokens = list(_DIALECT.tokenize(text))
    except SqlglotError as error:
        raise _syntax(error, text) from None
    if not tokens:
        raise ExpressionError(ExpressionCode.SYNTAX, "there is no expression here", offset=0)
    if len(tokens) > MAX_TOKENS:
        raise _too_large(f"the expression has {len(tokens):,} words; {MAX_TOKENS:,} at most", None)
    if (deep := _too_nested(tokens)) is not None:
        raise _too_large(f"the expression is nested deeper than {MAX_NESTING} levels here", deep.start)
    return tokens


def _too_nested(tokens: list[Token]) -> Token | None:
    depth = run = 0
    for token in tokens:
        kind = token.token_type
        depth += (kind in _OPENING) - (kind in _CLOSING)
        run = run + 1 if kind in _PREFIXES else 0
        if depth > MAX_NESTING or run > MAX_NESTING:
            return token
    return None


def _depth_of(tree: exp.Expr) -> int:
    """Counted without recursion, because it guards the passes that recurse."""
    deepest = 0
    stack = [(tree, 1)]
    while stack:
        node, depth = stack.pop()
        deepest = max(deepest, depth)
        stack.extend((child, depth + 1) for child in node.iter_expressions())
    return deepest


def _too_large(what: str, offset: int | None) -> ExpressionError:
    why = "the size of an expression is bounded, so that checking any definition ends soon"
    return ExpressionError(ExpressionCode.TOO_LARGE, what, why, "say it in several columns", offset)


def _syntax(error: SqlglotError, text: str) -> ExpressionError:
    first = (getattr(error, "errors", None) or [{}])[0]
    found = str(first.get("highlight") or "").strip()
    near = f" at '{found[:40]}'" if found else ""
    what = f"cannot read the expression{near}: something is missing or does not belong there"
    return ExpressionError(ExpressionCode.SYNTAX, what, "this is not an expression of SQL", offset=_offset(first, text))


def _offset(first: dict[str, object], text: str) -> int:
    """The parser counts lines from 1 and gives the column where the offending token ends."""
    line, column = first.get("line"), first.get("col")
    if not isinstance(line, int) or not isinstance(column, int):
        return 0
    start = sum(len(part) + 1 for part in text.split("\n")[: line - 1])
    return max(0, min(start + column - len(str(first.get("highlight") or "")), len(text)))
