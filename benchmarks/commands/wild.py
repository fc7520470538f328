"""Any folder of files, ingested: words of PDFs compared with independent readers, and every file and page counted."""

import argparse
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from benchmarks.figures.wild_report import wild_report
from benchmarks.measure.independent_words import readers
from benchmarks.measure.wild_pages import FAR_BOXES, FAR_SHARE, PageComparison, WildFiles, compare, sums
from layoutray.cli.shared import terminal
from layoutray.cluster.ingest import ingest
from layoutray.ocr.settings import PROFILES, Recognition
from layoutray.prepare.manifest import Manifest
from layoutray.recipe.ingest import IngestRecipe
from layoutray.store.data_set import DataSet


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks wild", description=__doc__)
    parser.add_argument("folder", type=Path, help="folder of PDF files and pictures")
    parser.add_argument(
        "--out", type=Path, default=Path("runs/wild"), help="data set and report (default: %(default)s)"
    )
    parser.add_argument("--limit", type=int, help="most files, in alphabetical order (default: all)")
    parser.add_argument("--profile", default="fast", choices=tuple(PROFILES), help="how scans are read")
    parser.add_argument("--shown", type=int, default=100, help="most pages in the report (default: %(default)s)")
    options = parser.parse_args(arguments)
    recipe = IngestRecipe(reader="folder", dev_share=0, recognition=Recognition(profile=options.profile))
    manifest = ingest(str(options.folder), str(options.out), recipe, limit=options.limit)
    out = DataSet(str(options.out))
    found, problems = compare(out), sums(manifest, str(options.folder), out, options.limit)
    corpora = _corpora(found.pages, options.folder)
    totals = _totals(manifest, found, problems)
    rows = [(name, _text(value)) for name, value in totals.items()]
    worst = sorted((page for page in found.pages if page.far_off), key=lambda page: page.agreement)
    report = options.out / "wild.html"
    with report.open("w", encoding="utf-8") as file:
        file.writelines(wild_report(f"Words of {options.folder}", rows, worst[: options.shown]))
    terminal.show_table("Files and pages", ("", "count"), rows)
    title = f"Far off: recall or precision below {FAR_SHARE}, or more than {FAR_BOXES:.0%} of boxes elsewhere"
    terminal.show_table(
        title, ("folder", *next(iter(corpora.values()), {})), [(k, *v.values()) for k, v in corpora.items()]
    )
    terminal.say(f"Report: {report}")
    terminal.show_report({"totals": totals, "folders": corpora, "far": [_row(page) for page in worst]}, None)
    return 1 if problems else 0


def _corpora(pages: Sequence[PageComparison], root: Path) -> dict[str, dict[str, Any]]:
    """Figures of each folder in `root`; recall and precision are means over words, not over pages."""
    groups = defaultdict[str, list[PageComparison]](list)
    for page in pages:
        first, *others = Path(page.page.source).relative_to(root.absolute()).parts
        groups[first if others else "."].append(page)
    return {name: _figures(group) for name, group in sorted(groups.items())}


def _figures(pages: Sequence[PageComparison]) -> dict[str, Any]:
    ours, theirs = sum(len(page.ours) for page in pages), sum(len(page.theirs) for page in pages)
    return {
        "files": len({page.page.source for page in pages}),
        "pages": len(pages),
        "words": ours,
        "other reader's": theirs,
        "recall": round(sum(page.recall * len(page.theirs) for page in pages) / max(theirs, 1), 4),
        "precision": round(sum(page.precision * len(page.ours) for page in pages) / max(ours, 1), 4),
        "far off": sum(page.far_off for page in pages),
    }


def _text(value: Any) -> str:
    """A value for people: the items of a list or a mapping with commas, and `none` for an empty one."""
    if isinstance(value, dict):
        value = [f"{name}: {count}" for name, count in cast(dict[str, Any], value).items()]
    return ", ".join(map(str, cast(list[Any], value))) or "none" if isinstance(value, list) else str(value)


def _totals(manifest: Manifest, found: WildFiles, problems: Sequence[str]) -> dict[str, Any]:
    return {
        "files": manifest.documents_in,
        "documents": manifest.documents_out,
        "duplicates": len(manifest.duplicates),
        "dead letters (files)": manifest.documents_dead,
        "pages": manifest.pages_in,
        "dead letters (pages)": manifest.pages_dead,
        "reasons of dead letters": manifest.reasons,
        "words from": manifest.words_from,
        "pages compared": len(found.pages),
        "compared with": ", ".join(readers()) + ("" if "poppler" in readers() else " (pdftotext is not installed)"),
        "pages far off": dict(Counter(page.kind for page in found.pages if page.far_off)),
        "files that no other reader reads": found.not_read,
        "files with other numbers of pages": found.other_counts,
        "counts that do not add up": list(problems),
    }


def _row(page: PageComparison) -> dict[str, Any]:
    return {
        "source": page.page.source,
        "page": page.page.number,
        "kind": page.kind,
        "reader": page.reader,
        "words": len(page.ours),
        "recall": round(page.recall, 4),
        "precision": round(page.precision, 4),
        "same_letters": round(page.same_letters, 4),
        "elsewhere": round(page.elsewhere, 4),
        "reason": page.page.provenance.reason,
    }
