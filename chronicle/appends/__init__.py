"""What a message means: the tuples and relation changes of one append, or why it is malformed."""

from __future__ import annotations

from chronicle.appends.body import Malformed, parse_body
from chronicle.appends.decode import Append, Change, Decoder, decode, decoder_of
from chronicle.appends.group import ChronicleColumns, Group, RelationColumns, group_of
from chronicle.appends.tokens import Token, journal_token, parse_token
from chronicle.appends.topics import TopicDecoder, relation_topic, topic_decoder

__all__ = [
    "decode",
    "decoder_of",
    "Decoder",
    "topic_decoder",
    "TopicDecoder",
    "relation_topic",
    "Append",
    "Change",
    "Malformed",
    "Group",
    "ChronicleColumns",
    "RelationColumns",
    "group_of",
    "parse_body",
    "Token",
    "journal_token",
    "parse_token",
]
