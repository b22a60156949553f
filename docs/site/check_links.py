"""Every link, picture and anchor of the site's HTML leads somewhere."""
import html.parser
import os
import posixpath
import urllib.parse


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.targets, self.anchors = [], set()

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src") and value is not None:
                self.targets.append(value)
            elif name in ("id", "name") and value:
                self.anchors.add(value)


def check(site):
    """Prints dead links; returns how many there are."""
    pages = {}
    for folder, _, files in os.walk(site):
        for name in files:
            if name.endswith(".html"):
                path = os.path.relpath(os.path.join(folder, name), site)
                page = Page()
                with open(os.path.join(site, path), encoding="utf-8") as file:
                    page.feed(file.read())
                pages[path] = page
    dead = links = 0
    for path, page in pages.items():
        if path == "404.html":
            continue  # its links are absolute, for a server
        for target in page.targets:
            url = urllib.parse.urlsplit(target)
            if url.scheme or url.netloc:
                continue
            links += 1
            file = posixpath.normpath(posixpath.join(posixpath.dirname(path), urllib.parse.unquote(url.path))) if url.path else path
            if os.path.isdir(os.path.join(site, file)):
                file = posixpath.join(file, "index.html")
            file = posixpath.normpath(file)
            anchor = urllib.parse.unquote(url.fragment)
            if not os.path.exists(os.path.join(site, file)):
                print(f"{path}: {target} does not exist")
                dead += 1
            elif anchor and not anchor.startswith("__") and file in pages and anchor not in pages[file].anchors:
                print(f"{path}: {target} names an anchor that does not exist")
                dead += 1
    print(f"{len(pages)} pages, {links} links, {dead} dead")
    return dead
