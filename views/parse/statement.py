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


def read(text: str, path: Path, report: Report) -> exp.Expr | None:
    """The one query that the text is; None after a finding that leaves nothing to look at."""
    tokens = _tokens(text, path, report)
    if tokens is None:
        return None
    try:
        statements = [tree for tree in _DIALECT.parse(_without_as_of(text, tokens)) if tree is not None]
    except SqlglotError as error:
        _syntax(error, text, path, report)
        return None
    except RecursionError:
        _too_deep(path, report)
        return None
    return _one_query(statements, tokens, path, report)


def read_expression(text: str, path: Path, report: Report) -> exp.Expr | None:
    """One expression of the shorthand, possibly with `AS name`."""
    tokens = _tokens(text, path, report)
    if tokens is None:
        return None
    try:
        tree = _expression(text)
    except SqlglotError as error:
        _syntax(error, text, path, report)
        return None
    except RecursionError:
        _too_deep(path, report)
        return None
    if tree is None or (isinstance(tree, exp.Block | exp.Query) and not isinstance(tree, exp.Subquery)):
        report.add(Code.SYNTAX, "one expression was expected here", Spot(path, 0))
        return None
    if len(tokens) > MAX_DEPTH // 4 and depth_of(tree) > MAX_DEPTH:
        _too_deep(path, report)
        return None
    mark(tree, path, tokens)
    return tree


@lru_cache(maxsize=1024)
def _parsed(text: str) -> exp.Expr | None:
    return _DIALECT.parser().parse_into(exp.Expr, list(_DIALECT.tokenize(text)), text)[0]


def _expression(text: str) -> exp.Expr | None:
    """A tree of one's own: views of one file share many small expressions, and copying is cheaper than parsing."""
    tree = _parsed(text)
    return tree.copy() if tree is not None else None


def _tokens(text: str, path: Path, report: Report) -> list[Token] | None:
    if len(text) > MAX_CHARACTERS:
        report.add(Code.TOO_LARGE, f"the query has {len(text):,} characters; {MAX_CHARACTERS:,} at most", Spot(path))
        return None
    try:
        tokens = list(_DIALECT.tokenize(text))
    except SqlglotError as error:
        _syntax(error, text, path, report)
        return None
    if len(tokens) > MAX_TOKENS:
        report.add(Code.TOO_LARGE, f"the query has {len(tokens):,} words; {MAX_TOKENS:,} at most", Spot(path))
        return None
    if (deep := _too_nested(tokens)) is not None:
        what = f"nested deeper than {MAX_NESTING} levels here"
        report.add(Code.TOO_LARGE, what, Spot(path, deep.start))
        return None
    if (comma := _stray_comma(tokens)) is not None:
        report.add(Code.SYNTAX, "cannot read the query: a comma with nothing after it", Spot(path, comma.start))
        return None
    return tokens


def _stray_comma(tokens: list[Token]) -> Token | None:
    """The parser would pass over it."""
    for token, after in pairwise(tokens):
        if token.token_type is TokenType.COMMA and after.token_type in (TokenType.COMMA, TokenType.FROM):
            return token
    return None


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


def _one_query(statements: list[exp.Expr], tokens: list[Token], path: Path, report: Report) -> exp.Expr | None:
    if not statements:
        report.add(Code.SYNTAX, "there is no query here", Spot(path, 0))
        return None
    first = statements[0]
    if len(statements) > 1:
        end = next((token.start for token in tokens if token.token_type is TokenType.SEMICOLON), 0)
        report.add(Code.NOT_A_SELECT, f"{len(statements)} statements; a view is one", Spot(path, end))
    query = first.unnest() if isinstance(first, exp.Paren | exp.Subquery) and not first.args.get("with_") else first
    if not isinstance(query, exp.Query) or isinstance(query, exp.Values | exp.Table):
        what = f"a view is a SELECT, and this begins with '{tokens[0].text[:40]}'"
        report.add(Code.NOT_A_SELECT, what, Spot(path, tokens[0].start))
        return None
    if depth_of(query) > MAX_DEPTH:
        _too_deep(path, report)
        return None
    mark(query, path, tokens)
    return query


def mark(tree: exp.Expr, path: Path, tokens: list[Token] | None = None) -> None:
    """Writes the path into every node, the names of functions as written, and positions into clauses without one."""
    words = {token.start: token.text.casefold() for token in tokens or ()}
    clauses: list[exp.Expr] = []
    for node in tree.walk():
        node.meta["path"] = path
        if isinstance(node, exp.Func) and node.meta.get("start") in words:
            node.meta["called"] = words[node.meta["start"]]
        if type(node) in _CLAUSES and "start" not in node.meta:
            clauses.append(node)
    for node in clauses:
        inner = [start for part in node.walk() if (start := part.meta.get("start")) is not None]
        starts = [token.start for token in tokens or () if token.token_type in _CLAUSES[type(node)]]
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


def _too_deep(path: Path, report: Report) -> None:
    report.add(Code.TOO_LARGE, "the query is nested too deeply", Spot(path))


def _syntax(error: SqlglotError, text: str, path: Path, report: Report) -> None:
    first = (getattr(error, "errors", None) or [{}])[0]
    offset = _offset(text, first.get("line"), first.get("col"), str(first.get("highlight") or ""))
    found = str(first.get("highlight") or "").strip()
    description = str(first.get("description") or str(error).splitlines()[0]).rstrip(".")
    if description.startswith(("Required keyword", "Failed to parse")):
        description = "something is missing before or after it" if found else "something is missing"
    near = f" at '{found[:40]}'" if found else ""
    report.add(Code.SYNTAX, f"cannot read the query{near}: {description}", Spot(path, offset))


def _offset(text: str, line: int | None, column: int | None, highlight: str) -> int:
    """The parser counts lines from 1 and gives the column where the offending token ends."""
    if line is None or column is None:
        return 0
    lines = text.split("\n")
    start = sum(len(part) + 1 for part in lines[: line - 1])
    return max(0, min(start + column - len(highlight), len(text)))
