"""Drawings in SVG that are readable on light and dark pages."""

from html import escape

SANS = "-apple-system, BlinkMacSystemFont, 'Segoe UI', 'Noto Sans', Helvetica, Arial, 'DejaVu Sans', sans-serif"
MONO = "ui-monospace, SFMono-Regular, 'SF Mono', Menlo, Consolas, 'Liberation Mono', 'DejaVu Sans Mono', monospace"

# Each class with its property, and its colours on a light and on a dark page.
COLOURS = {
    "page": ("fill", "#ffffff", "#0d1117"),
    "ink": ("fill", "#1f2328", "#f0f6fc"),
    "muted": ("fill", "#59636e", "#9198a1"),
    "accent": ("fill", "#0969da", "#4493f8"),
    "grey": ("fill", "#9aa4af", "#6e7681"),
    "rule": ("stroke", "#d1d9e0", "#30363d"),
    "mark": ("stroke", "#59636e", "#9198a1"),
    "join": ("stroke", "#b6d4f7", "#1c4273"),
    "window": ("fill", "#f6f8fa", "#151b23"),
    "frame": ("stroke", "#d1d9e0", "#3d444d"),
    "prompt": ("fill", "#8250df", "#ab7df8"),
    "good": ("fill", "#1a7f37", "#3fb950"),
    "bad": ("fill", "#cf222e", "#f85149"),
}


class Drawing:
    """An SVG picture of a given size on a background of its own."""

    def __init__(self, width, height, title, description):
        self.width, self.height = width, height
        self.title, self.description = title, description
        self.parts = []
        self.used = {"page"}

    def add(self, name, classes, content=None, **attributes):
        self.used.update(classes.split())
        given = {key.replace("_", "-"): value for key, value in attributes.items() if value is not None}
        written = "".join(f' {key}="{number(value)}"' for key, value in given.items())
        start = f'<{name} class="{classes}"{written}'
        self.parts.append(f"{start}/>" if content is None else f"{start}>{content}</{name}>")

    def text(self, x, y, text, classes="ink", anchor=None):
        self.add("text", classes, escape(text, quote=False), x=x, y=y, text_anchor=anchor)

    def spans(self, x, y, spans, classes="ink", anchor=None):
        """Draws a line of text whose pieces have classes of their own."""
        self.used.update(name for _, names in spans for name in names.split())
        inner = ""
        for text, names in spans:
            written = escape(text, quote=False)
            inner += f'<tspan class="{names}">{written}</tspan>' if names else written
        self.add("text", classes, inner, x=x, y=y, text_anchor=anchor)

    def rect(self, x, y, width, height, classes, radius=None):
        self.add("rect", classes, x=x, y=y, width=width, height=height, rx=radius)

    def line(self, x1, y1, x2, y2, classes="rule", **attributes):
        self.add("line", classes, x1=x1, y1=y1, x2=x2, y2=y2, **attributes)

    def dot(self, x, y, radius, classes):
        self.add("circle", classes, cx=x, cy=y, r=radius)

    def heading(self, x, title, *lines):
        """Draws the title with lines below it; returns the y after them."""
        self.text(x, 34, title, "ink title")
        for index, line in enumerate(lines):
            self.text(x, 56 + 18 * index, line, "muted")
        return 56 + 18 * len(lines)

    def render(self):
        names = [name for name in COLOURS if name in self.used]
        light, dark = ("".join(f".{name}{{{COLOURS[name][0]}:{COLOURS[name][shade]}}}" for name in names) for shade in (1, 2))
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{number(self.height)}" '
            f'viewBox="0 0 {self.width} {number(self.height)}" role="img" aria-labelledby="title desc">\n'
            f'<title id="title">{escape(self.title)}</title>\n<desc id="desc">{escape(self.description)}</desc>\n'
            f"<style>\n{self.styles()}\n{light}\n@media (prefers-color-scheme: dark) {{{dark}}}\n</style>\n"
            f'<rect class="page" width="{self.width}" height="{number(self.height)}" rx="6"/>\n' + "\n".join(self.parts) + "\n</svg>\n"
        )

    def styles(self):
        known = {
            "title": "font-size:18px;font-weight:600",
            "head": "font-size:13px;font-weight:600",
            "strong": "font-weight:600",
            "small": "font-size:12px",
            "mono": f"font-family:{MONO};font-size:12px;white-space:pre",
            "dashed": "stroke-dasharray:2 3",
            "thick": "stroke-width:2",
            "crisp": "shape-rendering:crispEdges",
        }
        rules = [f"text{{font-family:{SANS};font-size:13px;font-variant-numeric:tabular-nums}}"]
        return "\n".join(rules + [f".{name}{{{rule}}}" for name, rule in known.items() if name in self.used])


def number(value):
    """Writes a coordinate without needless digits."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
