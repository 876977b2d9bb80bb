"""Definitions: one chronicle group as YAML, read into frozen models, with the place of everything that is wrong.

loaded = load("chronicle.yaml")
loaded.definition, loaded.faults, loaded.view_faults, loaded.calendars
loaded.place(("views", "usage", "sql"), offset=120)
"""

from chronicle.definitions.loading import Loaded, load, load_text
from chronicle.definitions.models import (
    ChronicleDefinition,
    Definition,
    Derivation,
    JournalSource,
    KafkaSource,
    PeriodDefinition,
    RelationDefinition,
    RelationSource,
    StepDefinition,
    TiersDefinition,
    TiersDerivation,
    ViewDefinition,
)

__all__ = [
    "ChronicleDefinition",
    "Definition",
    "Derivation",
    "JournalSource",
    "KafkaSource",
    "Loaded",
    "PeriodDefinition",
    "RelationDefinition",
    "RelationSource",
    "StepDefinition",
    "TiersDefinition",
    "TiersDerivation",
    "ViewDefinition",
    "load",
    "load_text",
]
