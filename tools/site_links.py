"""Check a built site: python tools/site_links.py FOLDER. Exit with 1 where a page links to a file or place that is not
there, or asks for something from elsewhere."""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {("img", "src"), ("script", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")}
HINTS = {"canonical", "prev", "next", "search", "author", "index"}  # links of a page that nothing is loaded from


class Page(HTMLParser):
    """What a page names, links to and loads."""

    def __init__(self, text):
        super().__init__()
        self.names, self.links, self.loads = {""}, [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.names |= {values[key] for key in ("id", "name") if values.get(key)}
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        for key in ("src", "href"):
            if (tag, key) in LOADED and values.get(key) and values.get("rel") not in HINTS:
                self.loads.append(values[key])


def is_outside(address):
    return bool(urlsplit(address).scheme or urlsplit(address).netloc) and not address.startswith("data:")


def wrong_links(folder):
    """A sentence for everything that is wrong on the pages and style sheets below a folder."""
    paths = [path.resolve() for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts]
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in paths}
    for path, page in pages.items():
        for address in page.loads + page.links:
            if is_outside(address):
                if address in page.loads:
                    yield f"{path}: loads {address} from elsewhere"
                continue
            parts = urlsplit(address)
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                yield f"{path}: {address} does not exist"
            elif target in pages and unquote(parts.fragment) not in pages[target].names:
                yield f"{path}: {address} has no such place"
    for path in sorted(folder.rglob("*.css")):
        outside = re.findall(r"url\(\s*['\"]?((?:https?:)?//[^)'\"]+)", path.read_text(encoding="utf-8"))
        yield from (f"{path}: loads {address} from elsewhere" for address in outside)


def main():
    wrong = list(wrong_links(Path(sys.argv[1])))
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
