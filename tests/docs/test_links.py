"""Documents lead somewhere: every relative link names a file, and a heading where it says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.markdown import ROOT, anchors_in, links_in

DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("deploy/**/*.md")])


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_relative_link_resolves(document: Path) -> None:
    dead = [link for link in links_in(document.read_text()) if not _leads(document, link)]
    assert dead == []


def _leads(document: Path, link: str) -> bool:
    if "://" in link or link.startswith("mailto:"):
        return True
    path, _, anchor = link.partition("#")
    target = document.parent / path if path else document
    if not target.exists():
        return False
    return not anchor or anchor in anchors_in(target.read_text())


def test_every_page_of_docs_can_be_reached_from_the_readme() -> None:
    reached, queue = set(), [ROOT / "README.md"]
    while queue:
        page = queue.pop()
        if page in reached or page.suffix != ".md" or not page.exists():
            continue
        reached.add(page)
        queue += [
            (page.parent / link.split("#")[0]).resolve() for link in links_in(page.read_text()) if "://" not in link
        ]
    assert sorted(set(ROOT.glob("docs/*.md")) - reached) == []
