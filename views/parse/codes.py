"""The refusals: each has a stable code, the one plain sentence that says why, and what the fix leaves to the reader.

Sections and theorems are those of chronicle-data-model. docs/refusals.md explains each with an example.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

_NOT_A_CHRONICLE = (
    "Theorem 4.3 (§4): without its sequence number a result is no longer a chronicle, so what an append adds to it "
    "cannot be told from what is already there."
)
_OLD_TUPLES = (
    "Theorem 4.3 (§4): tuples of different appends would meet, so each append would have to read the old tuples of the "
    "other chronicle, and its cost would grow with the chronicle."
)
_DECOMPOSABLE = (
    "Definition 4.3 (§4): a summary takes only aggregates that decompose, that is, whose old result and a new "
    "value give "
    "the new result; this one needs all the values again."
)
_LOOKUP = (
    "Definition 4.3 (§4): a persistent view is a set of rows, each kept up to date on its own; this needs the whole "
    "view at every append, so it belongs to the reader of the view."
)
_ONE_SN = "Definition 4.1 (§4): every step of the algebra works within one append, on the tuple's own values."


class Refusal(NamedTuple):
    code: str
    why: str
    remark: str = ""
    """A comment above the fix: what it changes, or what is left to do at lookup."""


class Code(Enum):
    """One member per reason; the value is what the user sees of it."""

    SN_LOST = Refusal("CH101", _NOT_A_CHRONICLE, "every step inside keeps sn; only the outermost SELECT drops it")
    GROUPED_WITHOUT_SN = Refusal(
        "CH102", _NOT_A_CHRONICLE, "the grouping inside is a view of its own; group its rows again when you read them"
    )
    PRODUCT = Refusal("CH103", _OLD_TUPLES, "one view for each chronicle; put their rows together when you read them")
    JOIN_NOT_ON_SN = Refusal(
        "CH104", _OLD_TUPLES, "one view for each chronicle; put their rows together, by key, when you read them"
    )
    INEQUALITY_ON_SN = Refusal(
        "CH105", _OLD_TUPLES, "one view for each chronicle; put their rows together when you read them"
    )
    OUTER_JOIN = Refusal(
        "CH106",
        "Definition 4.1 (§4): chronicles join by equality of sn alone; a tuple without a partner is not a pair "
        "of tuples.",
        "the pairs; what has no partner is summarised by a view of its own",
    )
    RELATION_KEPT = Refusal(
        "CH107",
        "Lemma 4.1 (§4): what the algebra gives is a chronicle; a row of a relation that no tuple joins has no "
        "sequence number.",
        "only tuples of the chronicle can be kept without a partner (chronicle LEFT JOIN relation)",
    )
    SN_KEPT = Refusal(
        "CH108",
        "Definition 4.3 (§4): the summarisation drops the sequence number; with it the view would have a row "
        "for every append, for ever.",
        "the outermost SELECT has no sn",
    )
    NOT_SUMMARISED = Refusal(
        "CH109",
        "Definition 4.3 (§4): a view is a summary, by GROUP BY or by SELECT DISTINCT; the plain tuples are the "
        "chronicle itself.",
        "each row once; or GROUP BY with aggregates",
    )
    EXACT_DISTINCT = Refusal("CH110", _DECOMPOSABLE, "approx_distinct counts within about 2 %, in bounded space")
    ORDER_STATISTIC = Refusal("CH111", _DECOMPOSABLE, "approximate, in bounded space")
    COLLECTS_ALL = Refusal(
        "CH112", _DECOMPOSABLE, "the list of all values is the chronicle itself; this keeps one of them"
    )
    ORDERED_AGGREGATE = Refusal(
        "CH113", _DECOMPOSABLE, "first and last go by chronon, then by sequence number, without ORDER BY"
    )
    WINDOW = Refusal(
        "CH114",
        "Theorem 4.3 (§4): a window sets a tuple beside tuples of other appends, and these are not kept.",
        "an aggregate by group; for a moving window take a calendar whose length is longer than its every",
    )
    ORDER_BY = Refusal("CH115", _LOOKUP, "rows have no order; sort them when you read them (chronicle scan)")
    LIMIT = Refusal("CH116", _LOOKUP, "all rows are kept; take the first ones when you read them (chronicle scan)")
    HAVING = Refusal("CH117", _LOOKUP, "all groups are kept; leave out the others when you read them")
    QUALIFY = Refusal("CH118", _LOOKUP, "all rows are kept; leave out the others when you read them")
    AS_OF = Refusal(
        "CH119",
        "§2.1: a tuple always joins the version of a relation that was in force at its own chronon.",
        "the version in force at the tuple's chronon",
    )
    SUBQUERY = Refusal("CH120", _ONE_SN + " A sub-query in an expression looks at others.", "without the sub-query")
    IN_SUBQUERY = Refusal(
        "CH121",
        _ONE_SN + " IN and EXISTS look at others; a join with a relation on its key says the same and is one lookup.",
        "a join in place of the sub-query",
    )
    CLOCK = Refusal(
        "CH122",
        "Theorem 4.1 (§4): a view grows by its appends alone; what depends on the clock would change without one.",
        "a period makes rows per month or day and lets them expire: period: {calendar: ..., expire_after: ...}",
    )
    CHANCE = Refusal(
        "CH123",
        "Theorem 4.1 (§4): a view is a function of its appends; with chance in it no recomputation would give "
        "it again.",
        "without chance",
    )
    RECURSION = Refusal(
        "CH124",
        "Definition 4.1 (§4): the algebra has no recursion; its cost would not be bounded by the definition.",
        "without the recursion",
    )
    INTERSECT = Refusal(
        "CH125",
        "Definition 4.1 (§4): the algebra has union and difference; an intersection is written with the "
        "difference twice.",
        "A INTERSECT B is A EXCEPT (A EXCEPT B)",
    )
    SET_OPERATION_OUTERMOST = Refusal(
        "CH126",
        "Definition 4.3 (§4): the outermost step is one summarisation; unions and differences stand inside it, "
        "where they still have sn.",
        "one view for each part; put their rows together when you read them",
    )
    READS_A_VIEW = Refusal(
        "CH127",
        "Definition 4.3 (§4): a view summarises chronicles; another view is a relation whose rows change, and "
        "has no sequence number.",
        "the view that it reads, under this name; compute the rest when you read it",
    )
    NO_CHRONICLE = Refusal(
        "CH128",
        "Definition 4.3 (§4): a view summarises a chronicle; relations alone have versions, but no sequence numbers.",
        "the shape of a view",
    )
    SELECT_STAR = Refusal(
        "CH129",
        "A view keeps its columns when the chronicle gets new ones, so they are named.",
        "the columns by name",
    )
    NESTED_AGGREGATE = Refusal(
        "CH130",
        "Definition 4.3 (§4): aggregates are computed in one step over the tuples of a group; they have no "
        "value inside that step.",
        "one aggregate",
    )
    NOT_GROUPED = Refusal(
        "CH131",
        "A group has many tuples, so a column that is neither grouped nor aggregated has no one value.",
        "grouped by it; or take last(...), the latest value",
    )
    SAME_NAME = Refusal(
        "CH132", "Each column of a view has a name of its own, by which it is looked up.", "another name"
    )
    NO_NAME = Refusal("CH133", "A column is looked up by its name, and this expression has none.", "named with AS")
    DIFFERENT_TYPES = Refusal(
        "CH134",
        "Definition 4.1 (§4): both sides of a union or difference are chronicles of the same type.",
        "both sides with the same columns and types, in the same order",
    )
    UNSUPPORTED = Refusal(
        "CH135",
        "Definition 4.1 (§4): the algebra is selection, projection, union, difference, grouping, and joins by "
        "sn or with a relation.",
        "without it",
    )
    NOT_A_SELECT = Refusal("CH136", "A view is one query; it changes nothing.", "one SELECT")
    SYNTAX = Refusal("CH137", "This is not SQL that can be read.", "the shape of a view; put your columns in")
    TOO_LARGE = Refusal(
        "CH138",
        "The size of a view is bounded, so that checking any definition ends soon, and an append's cost has "
        "small constants.",
        "the shape of a view; say less in one view",
    )
    NOT_ADMITTED = Refusal(
        "CH139",
        "`admit` in this file asks for a cheaper class (Theorem 4.5, §4: SCA1 is constant, SCA-join log|R|, "
        "SCA polynomial in |R|).",
        "without the joins that make it dearer; or widen `admit`",
    )
    UNKNOWN_TABLE = Refusal("CH140", "A view reads the chronicles and relations of its own definition.")
    SAME_ALIAS = Refusal(
        "CH141", "Each part of FROM or WITH has a name of its own, so that its columns can be told apart."
    )
    AGGREGATE_TYPE = Refusal("CH142", "Each aggregate takes values of certain types.")
    NOT_A_CONDITION = Refusal("CH143", "WHERE, ON and FILTER take a condition, which is true, false or null.")
    COMPUTED = Refusal(
        "CH144",
        "Definition 4.3 (§4): the summarisation gives grouping columns and aggregates; what is computed from them "
        "belongs to `derive`, at lookup.",
        "the aggregates, and what is computed from them under derive",
    )
    UNKNOWN_AGGREGATE = Refusal(
        "CH145",
        "Definition 4.3 (§4): the aggregates of the language are those whose partial results merge; no others.",
        "the nearest of the aggregates that there are",
    )
    UNKNOWN_CALENDAR = Refusal("CH150", "A period takes its intervals from a calendar of this file (§5.1).")
    ANCHOR_NOT_JOINED = Refusal(
        "CH151",
        "§5.1: a tuple's period comes from the tuple and the row that it joins; this calendar's anchor or zone "
        "is a column of a relation "
        "that the view does not join on its key.",
        "joined on the relation's key",
    )
    NOT_GROUPED_BY_KEY = Refusal(
        "CH152",
        "§5.1: with one calendar for each key of the relation, a row of the view must belong to one key, or it "
        "would have several periods at once.",
        "grouped by the relation's key",
    )
    EXPIRES_IN_GRACE = Refusal(
        "CH153",
        "§5.1: an expired period is deleted, so it must not expire while its grace still lets appends in.",
        "expiry not before the grace is over",
    )
    DERIVE_CYCLE = Refusal("CH160", "A derived column is computed from others; in a cycle none can be the first.")
    DERIVE_COLLIDES = Refusal("CH161", "Each column of a view has a name of its own, by which it is looked up.")
    DERIVE_AGGREGATES = Refusal(
        "CH162", "Derived columns are computed from one finished row at lookup; the tuples are gone by then."
    )
    TIERS_OUT_OF_ORDER = Refusal("CH163", "§5.3: each step of a tariff begins above the one before it.")
    TIERS_NOT_A_NUMBER = Refusal("CH164", "§5.3: a tariff is a rate on an amount, and an amount is a number.")

    @property
    def code(self) -> str:
        return self.value.code

    @property
    def why(self) -> str:
        return self.value.why

    @property
    def remark(self) -> str:
        return self.value.remark
