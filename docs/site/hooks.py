"""Hooks of MkDocs: the edit link of a page leads to its file in the repository; kernels in C++ and Python as
tabs; HTML without indentation."""
import posixpath
import re

from assemble import RENAMED

VERBATIM = re.compile(r"(<(pre|script|style|textarea)\b.*?</\2>)", re.S)
SOURCES = {page: source for source, page in RENAMED.items() if source != "README.md"}


def source_of(page):
    """The file of the repository that is edited to change a page; None for generated pages."""
    if page in SOURCES:
        return SOURCES[page]
    folder = posixpath.dirname(page)
    if folder in ("cpp", "diagnostics") or folder.startswith("source"):
        return None
    if page in ("reference/tile.md", "reference/nv.md", "reference/passes.md", "reference/status.md",
                "reference/diagnostics.md", "reference/ptx-instructions.md", "reference/python-lang.md"):
        return None
    return "docs/" + page


def on_pre_page(page, config, files):
    source = source_of(page.file.src_uri)
    page.edit_url = f"{config['repo_url'].rstrip('/')}/edit/main/{source}" if config["repo_url"] and source else None
    return page


FENCE = r"(?:<!-- from: \S+ -->\n)?```%s\n(?:(?!```).*\n)*```\n"
TWINS = re.compile(f"({FENCE % 'cpp'})\n({FENCE % 'python'})")


def on_page_markdown(markdown, page, config, files):
    """A block of Python directly behind one of C++ is the same kernel: both become tabs."""
    def tab(title, block):
        return f'=== "{title}"\n\n' + "".join(f"    {line}" for line in block.splitlines(True)) + "\n"

    return TWINS.sub(lambda twins: tab("C++", twins[1]) + tab("Python", twins[2]), markdown)


def on_post_page(output, page, config):
    """A third of a small page is indentation of the theme's templates."""
    parts = VERBATIM.split(output)
    # Of each three parts, the first is other text, the second verbatim, the third the name of its tag.
    return "".join(re.sub(r"\s*\n\s*", "\n", part) if at % 3 == 0 else part
                   for at, part in enumerate(parts) if at % 3 != 2)
