"""The size of the site, what its search finds, and the links of each page to its neighbors."""
import json
import os
import re

LIMIT = 25_000_000  # bytes
# Queries of people who are new, and a page that has to be among the first three.
QUERIES = {
    "install": "start/install/",
    "pip install": "start/install/",
    "getting started": "start/first-kernel/",
    "autotune": "how-to/tuning/",
    "race": "start/check-a-kernel/",
    "triton": "how-to/porting/",
    "PS1612": "diagnostics/PS1612/",
}


def found(entries, query):
    """Pages in the order of a plain ranking: words of the query in titles, then in texts, times the boost of the page."""
    words = re.findall(r"\w+", query.lower())
    scores = {}
    for entry in entries:
        title, text = entry["title"].lower(), re.sub(r"<.*?>", " ", entry["text"]).lower()
        in_title, in_text = (re.findall(r"\w+", part) for part in (title, text))
        if not all(word in in_title or word in in_text for word in words):
            continue
        score = sum(100 * (word in in_title) + min(in_text.count(word), 20) for word in words) * entry.get("boost", 1)
        page = entry["location"].split("#")[0]
        scores[page] = max(score, scores.get(page, 0))
    return sorted(scores, key=scores.get, reverse=True)


def check(site, python_anchors):
    """Prints problems; returns how many there are. The reference of Python must have the anchors, which may be prefixes."""
    problems = []
    size = sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(site) for name in names)
    if size > LIMIT:
        problems.append(f"the site has {size / 1e6:.1f} MB; at most {LIMIT / 1e6:.0f} are allowed")
    with open(os.path.join(site, "search/search_index.json"), encoding="utf-8") as file:
        entries = json.load(file)["docs"]
    for query, page in QUERIES.items():
        pages = found(entries, query)
        if page not in pages[:3]:
            problems.append(f"a search for `{query}` finds {pages[:3]}, and not {page}")
    if any(entry["location"].startswith("source/") for entry in entries):
        problems.append("the search finds sources")
    with open(os.path.join(site, "tutorials/tile-programs/index.html"), encoding="utf-8") as file:
        page = file.read()
    for part in ("md-footer__link--prev", "md-footer__link--next", "md-logo", "Penstock 0."):
        if part not in page:
            problems.append(f"a tutorial has no {part}")
    with open(os.path.join(site, "reference/python-lang/index.html"), encoding="utf-8") as file:
        page = file.read()
    problems += [f"the reference of Python has no {anchor}" for anchor in python_anchors if f'id="{anchor}' not in page]
    print("\n".join([*problems, f"{size / 1e6:.1f} MB, {len(QUERIES)} queries, {len(problems)} problems"]))
    return len(problems)
