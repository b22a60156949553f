"""Pieces of charts and drawings as SVG, in light and dark."""
import html
import os
import sys

INK = {"text": "#1c2733", "soft": "#5a6775", "grid": "#e1e6ec", "paper": "#ffffff"}
DARK = {"text": "#e9ecf1", "soft": "#b4bdc9", "grid": "#3d434e", "paper": "#1d2027"}
BLUE, ORANGE, GREEN = ("#9ec9f5", "#2f6fae"), ("#f9c48b", "#b2681a"), ("#a8dcae", "#3a8446")  # fill, line


class Chart:
    """A picture of some width and height; coordinates are pixels."""

    def __init__(self, width, height, title, note):
        self.width, self.height, self.parts = width, height, []
        self.title = title
        self.text(16, 24, title, "title")
        self.text(16, 42, note, "soft")

    def text(self, x, y, what, style="ink", anchor="start"):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" class="{style}" text-anchor="{anchor}">{html.escape(what)}</text>')

    def line(self, x1, y1, x2, y2, style="grid"):
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{style}"/>')

    def bar(self, x, y, width, height, color, hollow=False, title=""):
        fill = "none" if hollow else color[0]
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}" '
                          f'stroke="{color[1]}"><title>{html.escape(title)}</title></rect>')

    def dot(self, x, y, color, title):
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{color[0]}" stroke="{color[1]}">'
                          f"<title>{html.escape(title)}</title></circle>")

    def arrow(self, x1, y1, x2, y2):
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="arrow" marker-end="url(#tip)"/>')

    def area(self, points, style):
        self.parts.append(f'<polygon class="{style}" points="' + " ".join(f"{x:.1f},{y:.1f}" for x, y in points) + '"/>')

    def svg(self):
        def rules(colors):
            return (f".paper{{fill:{colors['paper']}}}.ink,.title{{fill:{colors['text']}}}.soft{{fill:{colors['soft']}}}"
                    f".grid{{stroke:{colors['grid']}}}.mark{{stroke:{colors['text']};stroke-width:2}}"
                    f".range{{stroke:{colors['text']};stroke-width:1.5}}.arrow{{stroke:{colors['soft']};stroke-width:1.5}}.band{{fill:{colors['grid']};opacity:.6}}")
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" '
            f'height="{self.height}" role="img" font-family="\'DejaVu Sans\',\'Segoe UI\',Helvetica,Arial,sans-serif" '
            f'font-size="12">',
            f"<title>{html.escape(self.title)}</title>",
            f"<style>\n.title{{font-size:16px;font-weight:600}}.zero{{stroke:#c0392b}}.inbar{{fill:#16202b}}.strong{{fill:#16202b;font-weight:600;font-size:13px}}\n{rules(INK)}\n"
            f"@media (prefers-color-scheme:dark){{\n{rules(DARK)}\n}}\n</style>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            '<path class="soft" d="M0 0L8 4L0 8z"/></marker></defs>',
            '<rect class="paper" width="100%" height="100%"/>', *self.parts, "</svg>", ""])


def write(root, pictures, program, check):
    """Writes docs/pictures/NAME.svg for each name and function, or exits if one differs."""
    for name, draw in pictures.items():
        path, made = os.path.join(root, f"docs/pictures/{name}.svg"), draw()
        if not check:
            with open(path, "w", encoding="utf-8") as file:
                file.write(made)
        elif not os.path.exists(path) or open(path, encoding="utf-8").read() != made:
            sys.exit(f"docs/pictures/{name}.svg is out of date; {program} updates it")
