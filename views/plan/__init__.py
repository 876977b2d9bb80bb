"""The compiler: an admitted view to the SQL, steps and layouts that the kernels run (design: "One idea per stage")."""

from views.plan.plan import (
    GroupPlan,
    KeyedRows,
    OwnTopic,
    RelationPlan,
    ViewPlan,
    group_column,
    plan_group,
    plan_view,
    rule_column,
)
from views.plan.steps import Finish, Lookup, Scan, Step

__all__ = [
    "Finish",
    "GroupPlan",
    "KeyedRows",
    "Lookup",
    "OwnTopic",
    "RelationPlan",
    "Scan",
    "Step",
    "ViewPlan",
    "group_column",
    "plan_group",
    "plan_view",
    "rule_column",
]
