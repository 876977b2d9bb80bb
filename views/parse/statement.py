"""SQL text to a syntax tree whose nodes know where they stand, within bounds of size and depth.

`FOR SYSTEM_TIME AS OF chronon` is what a join with a relation always means (§2.1), so it is blanked out wherever it
stands.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError

from views.parse.codes import Code
from views.parse.findings import Path, Report, Spot

MAX_CHARACTERS = 65_536
MAX_TOKENS = 8_000
MAX_NESTING = 60
"""Of parentheses, CASE and the like; below it neither the parser nor any pass over the tree can run out of stack."""

MAX_DEPTH = 160
"""Of the syntax tree: a chain of AND, OR or + nests as deep as it is long."""

_AS_OF = re.compile(r"\bFOR\s+SYSTEM_TIME\s+AS\s+OF\s+(?:\w+\s*\.\s*)?chronon\b", re.IGNORECASE)

_DIALECT = Dialect.get_or_raise(None)
_PREFIXES = frozenset({TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE, TokenType.CASE})


_SMALL = 200
"""Characters of an expression that is worth remembering; what is longer is seldom written twice."""


class _UnreadableError(Exception):
    """Why a text is no query or expression; `offset` is where in it."""

    def __init__(self, code: Code, what: str, offset: int | None = None) -> None:
        super().__init__(what)
        self.code = code
        self.what = what
        self.offset = offset


def read(text: str, path: Path, report: Report) -> exp.Expr | None:
    """The one query that the text is; None after a finding that leaves nothing to look at."""
    try:
        tokens = _tokens(text)
        query = _one_query(_statements(text, tokens), tokens, path, report)
    except _UnreadableError as error:
        report.add(error.code, error.what, Spot(path, error.offset))
        return None
    query.meta["path"] = path
    return query


def read_expression(text: str, path: Path, report: Report) -> exp.Expr | None:
    """One expression of the shorthand, possibly with `AS name`: a tree of one's own, because repairs edit it."""
    try:
        tree = _copy(_remembered(text) if len(text) <= _SMALL else _expression(text))
    except _UnreadableError as error:
        report.add(error.code, error.what, Spot(path, error.offset))
        return None
    tree.meta["path"] = path
    return tree


def _statements(text: str, tokens: list[Token]) -> list[exp.Expr]:
    plain = _without_as_of(text, tokens)
    try:
        words = tokens if plain == text else _DIALECT.tokenize(plain)
        return [tree for tree in _DIALECT.parser().parse(words, plain) if tree is not None]
    except SqlglotError as error:
        raise _syntax(error, text) from None
    except RecursionError:
        raise _too_deep() from None


def _expression(text: str) -> exp.Expr:
    tokens = _tokens(text)
    try:
        trees = _DIALECT.parser().parse_into(exp.Expr, tokens, text)
    except SqlglotError as error:
        raise _syntax(error, text) from None
    except RecursionError:
        raise _too_deep() from None
    tree = trees[0] if len(trees) == 1 else None
    if tree is None or (isinstance(tree, exp.Block | exp.Query) and not isinstance(tree, exp.Subquery)):
        raise _UnreadableError(Code.SYNTAX, "one expression was expected here", 0)
    if len(tokens) > MAX_DEPTH // 4 and depth_of(tree) > MAX_DEPTH:
        raise _too_deep()
    _mark_words(tree, tokens)
    return tree


_remembered = lru_cache(maxsize=1024)(_expression)
"""Views of one file share many small expressions, and copying a tree is cheaper than reading its text again."""


def _copy(tree: exp.Expr) -> exp.Expr:
    """Without the deep copies that sqlglot makes of what a node knows of its place."""
    arguments = {key: _copy_of_argument(value) for key, value in tree.args.items()}
    copy = type(tree)(**arguments)
    copy.comments = tree.comments
    copy.meta.update(tree.meta)
    return copy


def _copy_of_argument(value: object) -> object:
    if isinstance(value, exp.Expr):
        return _copy(value)
    return [_copy_of_argument(item) for item in value] if isinstance(value, list) else value


def _tokens(text: str) -> list[Token]:
    if len(text) > MAX_CHARACTERS:
        raise _UnreadableError(Code.TOO_LARGE, f"the query has {len(text):,} characters; {MAX_CHARACTERS:,} at most")
    try:
        tokens = list(_DIALECT.tokenize(text))
    except SqlglotError as error:
        raise _syntax(error, text) from None
    if len(tokens) > MAX_TOKENS:
        raise _UnreadableError(Code.TOO_LARGE, f"the query has {len(tokens):,} words; {MAX_TOKENS:,} at most")
    if (deep := _too_nested(tokens)) is not None:
        raise _UnreadableError(Code.TOO_LARGE, f"nested deeper than {MAX_NESTING} levels here", deep.start)
    if (comma := _stray_comma(tokens)) is not None:
        raise _UnreadableError(Code.SYNTAX, "cannot read the query: a comma with nothing after it", comma.start)
    return tokens


def _stray_comma(tokens: list[Token]) -> Token | None:
    """The parser would pass over it."""
    for token, after in pairwise(tokens):
        if token.token_type is TokenType.COMMA and after.token_type in _NOT_AFTER_A_COMMA:
            return token
    return tokens[-1] if tokens and tokens[-1].token_type is TokenType.COMMA else None


_NOT_AFTER_A_COMMA = frozenset(
    {
        TokenType.COMMA,
        TokenType.FROM,
        TokenType.JOIN,
        TokenType.WHERE,
        TokenType.GROUP_BY,
        TokenType.HAVING,
        TokenType.ORDER_BY,
        TokenType.LIMIT,
        TokenType.UNION,
        TokenType.EXCEPT,
        TokenType.R_PAREN,
        TokenType.SEMICOLON,
    }
)


def _too_nested(tokens: list[Token]) -> Token | None:
    """Where nesting passes the limit. A run of prefix operators nests without parentheses, so it counts too."""
    depth = run = 0
    for token in tokens:
        kind = token.token_type
        if kind in (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE):
            depth += 1
        elif kind in (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END):
            depth -= 1
        run = run + 1 if kind in _PREFIXES else 0
        if depth > MAX_NESTING or run > MAX_NESTING:
            return token
    return None


def _without_as_of(text: str, tokens: list[Token]) -> str:
    """Blanks of the same length keep every position; only where FOR is a token, not inside a string or comment."""
    starts = {token.start for token in tokens}
    return _AS_OF.sub(lambda found: " " * len(found[0]) if found.start() in starts else found[0], text)


def _one_query(statements: list[exp.Expr], tokens: list[Token], path: Path, report: Report) -> exp.Expr:
    if not statements:
        raise _UnreadableError(Code.SYNTAX, "there is no query here", 0)
    first = statements[0]
    if len(statements) > 1:
        end = next((token.start for token in tokens if token.token_type is TokenType.SEMICOLON), 0)
        report.add(Code.NOT_A_SELECT, f"{len(statements)} statements; a view is one", Spot(path, end))
    query = _without_parentheses(first)
    if not isinstance(query, exp.Query) or isinstance(query, exp.Values | exp.Table):
        what = f"a view is a SELECT, and this begins with '{tokens[0].text[:40]}'"
        raise _UnreadableError(Code.NOT_A_SELECT, what, tokens[0].start)
    if depth_of(query) > MAX_DEPTH:
        raise _too_deep()
    _mark_words(query, tokens)
    return query


def _without_parentheses(query: exp.Expr) -> exp.Expr:
    """Up to the first that has a clause of its own, as `(SELECT ...) LIMIT 5`."""
    while isinstance(query, exp.Paren | exp.Subquery) and not any(v for k, v in query.args.items() if k != "this"):
        query = query.this
    return query


def _mark_words(tree: exp.Expr, tokens: list[Token]) -> None:
    """Writes the names of functions as written, and positions into clauses without one."""
    words = {token.start: token.text.casefold() for token in tokens}
    clauses: list[exp.Expr] = []
    for node in tree.walk():
        if isinstance(node, exp.Func) and node.meta.get("start") in words:
            node.meta["called"] = words[node.meta["start"]]
        if type(node) in _CLAUSES and "start" not in node.meta:
            clauses.append(node)
    for node in clauses:
        inner = [start for part in node.walk() if (start := part.meta.get("start")) is not None]
        starts = [token.start for token in tokens if token.token_type in _CLAUSES[type(node)]]
        before = [start for start in starts if not inner or start < min(inner)]
        if before:
            node.meta["start"] = before[-1]


_CLAUSES: dict[type[exp.Expr], tuple[TokenType, ...]] = {
    exp.Order: (TokenType.ORDER_BY,),
    exp.Having: (TokenType.HAVING,),
    exp.Limit: (TokenType.LIMIT,),
    exp.Fetch: (TokenType.FETCH,),
    exp.Offset: (TokenType.OFFSET,),
    exp.Qualify: (TokenType.QUALIFY,),
    exp.With: (TokenType.WITH,),
    exp.CurrentDate: (TokenType.CURRENT_DATE,),
    exp.CurrentTimestamp: (TokenType.CURRENT_TIMESTAMP,),
    exp.CurrentTime: (TokenType.CURRENT_TIME,),
    exp.Localtimestamp: (TokenType.LOCALTIMESTAMP,),
    exp.Localtime: (TokenType.LOCALTIME,),
}


def depth_of(tree: exp.Expr) -> int:
    """How deep the tree is, counted without recursion."""
    deepest = 0
    stack = [(tree, 1)]
    while stack:
        node, depth = stack.pop()
        deepest = max(deepest, depth)
        stack.extend((child, depth + 1) for child in node.iter_expressions())
    return deepest


def _too_deep() -> _UnreadableError:
    return _UnreadableError(Code.TOO_LARGE, "the query is nested too deeply")


def _syntax(error: SqlglotError, text: str) -> _UnreadableError:
    first = (getattr(error, "errors", None) or [{}])[0]
    offset = _offset(text, first.get("line"), first.get("col"), str(first.get("highlight") or ""))
    found = str(first.get("highlight") or "").strip()
    description = str(first.get("description") or str(error).splitlines()[0]).rstrip(".")
    if description.startswith(("Required keyword", "Failed to parse")):
        description = "something is missing before or after it" if found else "something is missing"
    near = f" at '{found[:40]}'" if found else ""
    return _UnreadableError(Code.SYNTAX, f"cannot read the query{near}: {description}", offset)


def _offset(text: str, line: int | None, column: int | None, highlight: str) -> int:
    """The parser counts lines from 1 and gives the column where the offending token ends."""
    if line is None or column is None:
        return 0
    lines = text.split("\n")
    start = sum(len(part) + 1 for part in lines[: line - 1])
    return max(0, min(start + column - len(highlight), len(text)))
