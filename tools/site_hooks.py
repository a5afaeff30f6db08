"""Adds the README, as the start page, and other pages outside docs/ to the site.

MkDocs calls these functions (mkdocs.yml names this file). They change the links of pages for the
site and remove the words that only tools/check_docs.py reads.
"""

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from nbconvert.exporters import MarkdownExporter

ROOT = Path(__file__).resolve().parent.parent
OUTSIDE = {
    "README.md": "index.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "SECURITY.md": "SECURITY.md",
}
# "```sh run", "```text output", "```cpp of=PATH": only the language is for the reader.
CHECKED_FENCE = re.compile(r"^(```\w+) (?:run|output|of=\S+|part-of=\S+)$", re.MULTILINE)
# Links to files that the site does not have are shown as their path in the tree.
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages outside docs/ and those of the notebooks."""
    for path, name in OUTSIDE.items():
        text = (ROOT / path).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=text))
    for notebook in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        for name, content in _pages_of(notebook).items():
            files.append(File.generated(config, f"notebooks/{name}", content=content))
    return files


def _pages_of(notebook: Path) -> dict[str, str | bytes]:
    """The page of a notebook and its pictures: with outputs, if tools/notebooks.py has run it."""
    done = ROOT / "build-notebooks" / notebook.name
    exporter = MarkdownExporter()  # type: ignore[no-untyped-call]
    text, resources = exporter.from_filename(str(done if done.exists() else notebook))
    link = f"The notebook is `docs/notebooks/{notebook.name}`."
    pages: dict[str, str | bytes] = {f"{notebook.stem}.md": f"{text}\n\n{link}\n"}
    for name, picture in resources["outputs"].items():
        unique = f"{notebook.stem}-{name}"
        pages[unique] = picture
        page = pages[f"{notebook.stem}.md"]
        assert isinstance(page, str)
        pages[f"{notebook.stem}.md"] = page.replace(f"({name})", f"({unique})")
    return pages


def _in_site(target: str, page: str, files: Files) -> str | None:
    """A link to a file of the tree as a link of the site; None if the site has no such page."""
    source = next((path for path, name in OUTSIDE.items() if name == page), f"docs/{page}")
    path = (ROOT / source).parent.joinpath(target).resolve()
    if path.is_dir():
        path = path / "README.md"
    in_tree = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else ""
    name = OUTSIDE.get(in_tree, in_tree.removeprefix("docs/")).replace(".ipynb", ".md")
    if name not in files.src_uris:
        return None
    return "../" * page.count("/") + name


def on_page_markdown(markdown: str, page: Any, config: MkDocsConfig, files: Files) -> str:
    """Rewrites links and fences of one page for the site."""

    def rewritten(match: re.Match[str]) -> str:
        mark, text, target, anchor = match.groups()
        if "://" in target:
            return match[0]
        name = _in_site(target, page.file.src_uri, files)
        if name is not None:
            return f"{mark}[{text}]({name}{anchor or ''})"
        path = (ROOT / "docs" / page.file.src_uri).parent.joinpath(target).resolve()
        if not path.exists() and not (ROOT / target).exists():
            return match[0]  # a link to nothing: MkDocs reports it
        return text

    return LINK.sub(rewritten, CHECKED_FENCE.sub(r"\1", markdown))
