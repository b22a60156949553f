#!/usr/bin/env python3
"""Measures the contrast of texts on pages of the site, in light and dark.

  contrast.py SITE [PAGE..]

A headless browser renders each page in both color schemes; each visible text must have a
contrast of at least 4.5:1 (3:1 from 24 px on) against what is behind it, as WCAG 2.1 defines
it. Pictures are read as text: the colors of their texts against their paper.
Exit code: 0, 1 if a text has less, 77 if there is no browser.
"""
import base64
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

UNAVAILABLE = 77
PAGES = ("index.html", "start/install/index.html", "tutorials/explicit-kernels/index.html", "how-to/porting/index.html",
         "reference/language/index.html", "reference/diagnostics/index.html", "diagnostics/PS1612/index.html", "cpp/block.h/index.html")
SCRIPT = """
<style>* { transition: none !important; }</style>
<script>
window.addEventListener('load', () => {
  const parse = (text) => { const n = text.match(/[\\d.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n; };
  const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const light = (c) => { const [r, g, b] = c.slice(0, 3).map(v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
  const behind = (node) => { const stack = []; for (let at = node; at; at = at.parentElement) stack.push(parse(getComputedStyle(at).backgroundColor)); return stack.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]); };
  const found = {};
  for (const scheme of ['default', 'slate']) {
    document.body.setAttribute('data-md-color-scheme', scheme);
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    let texts = 0, low = {};
    for (let node; node = walk.nextNode();) {
      const of = node.parentElement;
      if (!node.data.trim() || !of.checkVisibility({checkOpacity: true, checkVisibilityCSS: true}) || of.closest('script, style, .md-search__output, .headerlink, .md-skip')) continue;
      const style = getComputedStyle(of), paper = behind(of), ink = over(parse(style.color), paper);
      const [a, b] = [light(ink), light(paper)].sort((x, y) => y - x), ratio = (a + .05) / (b + .05);
      ++texts;
      if (ratio < (parseFloat(style.fontSize) >= 24 ? 3 : 4.5)) low[of.tagName + '.' + of.className + ': ' + node.data.trim().slice(0, 30)] = [ratio.toFixed(2), style.color, paper.map(Math.round).join(',')].join(' ');
    }
    found[scheme] = {texts, low};
  }
  document.title = 'contrast';
  document.body.innerHTML = '<pre id="contrast">' + btoa(unescape(encodeURIComponent(JSON.stringify(found)))) + '</pre>';
});
</script>
"""


def luminance(color):
    digits = color.lstrip("#")
    digits = "".join(2 * digit for digit in digits) if len(digits) == 3 else digits
    parts = [int(digits[at:at + 2], 16) / 255 for at in (0, 2, 4)]
    parts = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def ratio(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def check_picture(path):
    """Colors of the classes of texts against the paper; classes of texts on bars have dark colors only."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    problems, style = [], re.search(r"<style>(.*?)</style>", text, re.S)[1]
    light, _, dark = style.partition("@media")
    used = set(re.findall(r'<text [^>]*class="(\w+)"', text))
    for name, rules in (("light", light), ("dark", dark)):
        colors = {each: match for selectors, body in re.findall(r"([^{}]+)\{([^{}]*)\}", rules)
                  if (match := next(iter(re.findall(r"(?<![-\w])fill:(#\w+)", body)), None))
                  for each in re.findall(r"\.(\w+)", selectors)}
        paper = colors.get("paper", "#ffffff")
        for each in sorted(used & set(colors)):
            if name == "light" and luminance(colors[each]) > 0.5:
                continue  # on dark cells
            if ratio(colors[each], paper) < 4.5:
                problems.append(f"{os.path.basename(path)}: {each} in {name}: {ratio(colors[each], paper):.1f}")
    if not dark:
        problems.append(f"{os.path.basename(path)} has no dark colors")
    return problems


def check_page(browser, site, page):
    with open(os.path.join(site, page), encoding="utf-8") as file:
        text = file.read()
    copy = os.path.join(site, os.path.dirname(page), "contrast-of-this-page.html")
    with open(copy, "w", encoding="utf-8") as file:
        file.write(text.replace("</body>", SCRIPT + "</body>"))
    try:
        with tempfile.TemporaryDirectory() as profile:
            shown = subprocess.run([browser, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}",
                                    "--allow-file-access-from-files", "--virtual-time-budget=4000", "--window-size=1280,1200",
                                    "--dump-dom", "file://" + copy], capture_output=True, text=True, timeout=120).stdout
    finally:
        os.remove(copy)
    found = re.search(r'id="contrast">([\w+/=]+)<', shown)
    if not found:
        return [f"{page}: the browser has measured nothing"]
    problems = []
    for scheme, result in json.loads(base64.b64decode(found[1])).items():
        if result["texts"] < 50:
            problems.append(f"{page} in {scheme}: only {result['texts']} texts are visible")
        problems += [f"{page} in {scheme}: {what} has {measured}" for what, measured in result["low"].items()]
    return problems


def main():
    site = os.path.abspath(sys.argv[1])
    pictures = sorted(glob.glob(os.path.join(site, "pictures/*.svg")))
    problems = [problem for path in pictures for problem in check_picture(path)]
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    pages = sys.argv[2:] or PAGES
    if browser:
        problems += [problem for page in pages for problem in check_page(browser, site, page)]
    print("\n".join([*problems, f"{len(pictures)} pictures, {len(pages) if browser else 0} pages, {len(problems)} problems"]))
    sys.exit(1 if problems else 0 if browser else UNAVAILABLE)


if __name__ == "__main__":
    main()
