"""Copies the pages of the repository to the sources of the site.

Links between pages keep working; a link to a file or folder of the repository
outside of docs/ leads to a page that shows it.
"""
import os
import posixpath
import re
import shutil

# Pages outside of docs/, and those whose name differs on the site.
RENAMED = {
    "README.md": "index.md",
    "docs/site/index.md": "index.md",
    "CONTRIBUTING.md": "contributing/index.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
}
# Pages that a search should show first.
BOOST = {"start": 8, "tutorials": 4, "how-to": 4, "explanation": 2}
HIGHLIGHTED = 6000  # characters
LANGUAGES = {".h": "cpp", ".cpp": "cpp", ".cu": "cpp", ".py": "python", ".md": "markdown", ".td": "tablegen"}
FROM = re.compile(r"<!-- from: (\S+) -->\n```(\w+)\n(.*?)^```", re.S | re.M)
FENCE = re.compile(r"^( *)```.*?^\1```", re.S | re.M)
TABS = re.compile(r"^<!-- tabs -->\n(.*?)^<!-- end of tabs -->\n", re.S | re.M)
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


def tabs(section):
    """The sections of a page between `<!-- tabs -->` and `<!-- end of tabs -->`, as tabs."""
    text = ""
    for part in re.split(r"^### ", section.group(1), flags=re.M)[1:]:
        title, _, body = part.partition("\n")
        text += f'=== "{title}"\n' + "".join(f"    {line}\n" if line else "\n" for line in body.split("\n"))
    return text


class Assembler:
    def __init__(self, root, output):
        self.root, self.output = root, output
        self.sources = set()

    def site_path(self, path):
        """The page, or picture, that shows a file of the repository."""
        if path in RENAMED:
            return RENAMED[path]
        if path.startswith("docs/") and not path.startswith("docs/site/"):
            if path.endswith((".md", ".svg")):
                return path[len("docs/"):]
        self.sources.add(path)
        if os.path.isdir(os.path.join(self.root, path)):
            return f"source/{path}/index.md"
        return f"source/{path}.md"

    def link(self, page, target):
        """A link of a page of the repository, as the site needs it."""
        if re.match(r"\w+:|#", target):
            return target
        path, _, anchor = target.partition("#")
        repository = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
        start = posixpath.dirname(self.site_path(page))
        moved = posixpath.relpath(self.site_path(repository), start or ".")
        return moved + ("#" + anchor if anchor else "")

    def label(self, page, text, target):
        """The text of a link; a page that is linked by its file name has its title there."""
        if not re.fullmatch(r"[\w/-]+\.md", text) or re.match(r"\w+:", target):
            return text
        path = os.path.join(self.root, posixpath.dirname(page), target.partition("#")[0])
        if target.partition("#")[0].endswith(".md"):
            with open(path, encoding="utf-8") as file:
                title = re.search(r"^# (.+)$", file.read(), re.M)
            return title.group(1).split(": ")[0] if title else text
        return text

    def numbered(self, block):
        """A block that shows lines of a file, with their numbers in that file."""
        with open(os.path.join(self.root, block[1]), encoding="utf-8") as file:
            source = [line.strip() for line in file.read().splitlines()]
        shown = [line.strip() for line in block[3].splitlines()]
        first = next(at for at in range(len(source)) if source[at:at + len(shown)] == shown)
        return f'```{block[2]} linenums="{first + 1}" title="{block[1]}"\n{block[3]}```'

    def convert(self, page, text):
        """A page with the links of the site; code is left alone."""
        text = FROM.sub(self.numbered, text)
        kept = []
        text = FENCE.sub(lambda m: kept.append(m.group(0)) or f"\0{len(kept) - 1}\0", text)
        text = LINK.sub(lambda m: f"{m[1]}[{self.label(page, m[2], m[3])}]({self.link(page, m[3])})", text)
        text = re.sub(r"\0(\d+)\0", lambda m: kept[int(m.group(1))], text)
        return TABS.sub(tabs, text)

    def write(self, path, text):
        full = os.path.join(self.output, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)

    def page(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8") as file:
            text = self.convert(path, file.read())
        boost = BOOST.get(self.site_path(path).split("/")[0])
        self.write(self.site_path(path), f"---\nsearch:\n  boost: {boost}\n---\n\n{text}" if boost else text)

    def pages(self):
        for folder, _, files in os.walk(os.path.join(self.root, "docs")):
            relative = os.path.relpath(folder, self.root)
            for name in files:
                path = f"{relative}/{name}"
                if path.startswith("docs/site/") or not name.endswith((".md", ".svg")):
                    continue
                if name.endswith(".md"):
                    self.page(path)
                else:
                    target = os.path.join(self.output, self.site_path(path))
                    os.makedirs(os.path.dirname(target), exist_ok=True)
                    shutil.copy(os.path.join(self.root, path), target)
        for path in ("docs/site/index.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"):
            self.page(path)

    def source_pages(self):
        """Pages for all files that others link to; a folder's page links to its files. Searches leave them out."""
        hidden = "---\nsearch:\n  exclude: true\n---\n\n"
        done = set()
        while self.sources - done:
            for path in sorted(self.sources - done):
                done.add(path)
                full = os.path.join(self.root, path)
                if os.path.isdir(full):
                    names = sorted(n for n in os.listdir(full) if not n.startswith(".") and n != "__pycache__")
                    text = f"# {path}\n\n" + "".join(f"- [{n}]({path}/{n})\n" for n in names)
                    text = self.convert("README.md", text).replace("](source/" + path + "/", "](")
                    self.write(self.site_path(path), hidden + text)
                    continue
                with open(full, encoding="utf-8") as file:
                    text = file.read()
                # Large files are not highlighted: that takes ten times their size.
                language = LANGUAGES.get(os.path.splitext(path)[1], "text") if len(text) < HIGHLIGHTED else "text"
                self.write(self.site_path(path), f"{hidden}# {path}\n\n````{language}\n{text.rstrip()}\n````\n")
