"""The JSON Schema of a definition file, made from the models, so that the two cannot disagree."""

from __future__ import annotations

from typing import Any

from chronicle.definitions.models import Definition

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    schema = Definition.model_json_schema(by_alias=True, mode="validation")
    return {"$schema": DIALECT, **schema, "title": "Chronicle definition"}
