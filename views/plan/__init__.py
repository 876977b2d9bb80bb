"""The compiler: an admitted view to the SQL, steps and layouts that the kernels run (design: "One idea per stage")."""

from views.plan.plan import GroupPlan, OwnTopic, RelationPlan, ViewPlan, plan_group
from views.plan.programs import (
    ConstantsTable,
    KeyedRows,
    Program,
    group_column,
    rule_column,
)
from views.plan.steps import Finish, Lookup, Scan, Step

__all__ = [
    "ConstantsTable",
    "Finish",
    "GroupPlan",
    "KeyedRows",
    "Lookup",
    "OwnTopic",
    "Program",
    "RelationPlan",
    "Scan",
    "Step",
    "ViewPlan",
    "group_column",
    "plan_group",
    "rule_column",
]
