#!/usr/bin/env python3
"""Says which links of the documents lead nowhere: to a file that is not there, or to no heading of one that is."""

import pathlib
import re
import subprocess
import sys

LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.*?) *$", re.MULTILINE)
ANCHOR = re.compile(r'<a id="([^"]+)">')
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def anchors(document):
    """As the pages that show it name its headings."""
    text = re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    names = [re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in HEADING.findall(text)]
    return {*names, *ANCHOR.findall(text)}


def problem(document, target):
    """None if it leads somewhere."""
    path, _, anchor = target.partition("#")
    there = document.parent / path if path else document
    if not there.exists():
        return "no such file"
    if anchor and there.suffix == ".md" and anchor not in anchors(there):
        return "no such heading"
    return None


def main():
    listed = subprocess.run(["git", "ls-files", "*.md"], capture_output=True, text=True, check=True).stdout
    bad = 0
    for name in listed.splitlines():
        document = pathlib.Path(name)
        for target in LINK.findall(CODE.sub("", document.read_text(encoding="utf-8"))):
            if target.startswith(("http:", "https:", "mailto:")):
                continue
            if found := problem(document, target):
                print(f"{name}: {target}: {found}")
                bad = 1
    return bad


if __name__ == "__main__":
    sys.exit(main())
