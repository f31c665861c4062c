# SPDX-License-Identifier: GPL-2.0-only
#
# usage: check-page.py <PAGE
#
# The page of fusionctl report is well-formed XML, loads nothing, runs nothing, and can be used by
# those who do not see it: one h1, no gap between headings, a title in every drawing, headers in
# tables. Each fault is a line.

import re
import sys
import xml.etree.ElementTree as tree

HTML = "{http://www.w3.org/1999/xhtml}"
SVG = "{http://www.w3.org/2000/svg}"
ALLOWED = {HTML: set("""html head meta title style body main header footer section article h1 h2 h3
                     h4 p strong b i span small code div dl dt dd ul li details summary table
                     tbody tr th td""".split()),
           SVG: set("svg title rect path".split())}
ATTRIBUTES = set("""lang charset name content class scope viewBox preserveAspectRatio role x y width
                 height d""".split())

wrong = []


def names(element):
    space, name = element.tag.rsplit("}", 1)
    return space + "}", name


def check_element(element):
    space, name = names(element)
    if name not in ALLOWED.get(space, ()):
        wrong.append(f"element {element.tag}")
    for key in element.attrib:
        if key not in ATTRIBUTES:
            wrong.append(f"attribute {key} of {name}")
    if (space, name) == (SVG, "svg"):
        first = list(element)[:1]
        if not first or first[0].tag != SVG + "title" or not first[0].text:
            wrong.append("a drawing without a title")
    if space == SVG:
        for key in ("width", "height", "x", "y"):
            if element.get(key) and not re.fullmatch(r"\d+(\.\d+)?", element.get(key)):
                wrong.append(f"{key}={element.get(key)}")
        if re.search(r"[^MhvzM0-9 -]", element.get("d", "")):
            wrong.append("a path with other commands")


def check_headings(root):
    last = 0
    for element in root.iter():
        found = re.fullmatch(r"h([1-4])", names(element)[1])
        if not found:
            continue
        level = int(found[1])
        if level > last + 1 or (level == 1 and last):
            wrong.append(f"h{level} after h{last}")
        last = level
        if not "".join(element.itertext()).strip():
            wrong.append(f"an empty h{level}")


text = sys.stdin.read()
if not text.startswith("<!DOCTYPE html>\n"):
    wrong.append("no document type")
if re.search(r"url\(|@import|\bon[a-z]+=|\(null\)|\bnan\b|\binf\b", text):
    wrong.append("something to load, to run, or without a value")
try:
    page = tree.fromstring(text)
except tree.ParseError as e:
    sys.exit(f"not well-formed: {e}")
for i in page.iter():
    check_element(i)
check_headings(page)
for i in page.iter(HTML + "th"):
    if i.get("scope") not in ("row", "col"):
        wrong.append("a header without a scope")
if not page.findtext(f"{HTML}head/{HTML}title"):
    wrong.append("no title")
print("\n".join(wrong), end="\n" if wrong else "")
sys.exit(bool(wrong))
