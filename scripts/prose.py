#!/usr/bin/env python3
"""Finds sentences in comments and documents that docs/internals/style.md rules out.

usage: prose.py [--all] [FILE or FOLDER]...

Prints each sentence that breaks a rule, and the share of blocks (comments or paragraphs) with such a sentence for each
folder. Without --all it prints only the folders that exceed the limit of 10 %, and their sentences; the exit status is
then 1. The rules are patterns, so a block may break one and still be right: that is what the limit leaves room for.
Lines of documents that could be wrapped at 100 columns are errors, and so are words that docs/glossary.md names under
"Words with a better synonym".
"""

import os
import re
import subprocess
import sys

MAX_WORDS = 30  # five more than the style's limit: a pattern counts `a.b()` and a formula as words, too
MAX_SHARE = 0.10
MIN_BLOCKS = 10  # in smaller folders a single block would exceed the limit
MAX_WIDTH = 100  # of documents

CHECKED = ["include", "src", "cli", "tools", "apps", "bench", "kernel", "tests", "examples", "scripts", "cmake", "docs",
           "README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
VERB = (
    r"(must|may|can|cannot|will|would|is|are|was|were|has|have|had|does|do|did|returns?|holds?|takes?|runs?|waits?|"
    r"gives?|makes?|keeps?|comes?|needs?|ends?|stays?|starts?|gets?|sees?|goes?|[a-z]+(?:es|ts|ds|ns|rs|ls))"
)
RULES = [
    (re.compile(r"^(The same|Such|So (many|much|long|often|far))\b"), "opens with a pointer: name the thing"),
    (re.compile(r"^(Who|Whoever|Whose|Whom|Whatever|What|Nobody|None|Nothing|Those that|That which)\b(?!.*\?$)"),
     "a clause or a negation as the subject: name the actor"),
    (re.compile(r"\b(whoever|whosoever|whomever|nobody|thereby|therein|whereof|of its own accord|in the place of)\b", re.I),
     "a stilted word: write what you would say"),
    (re.compile(r"\bfor the sake of\b|\bis none of\b|\bof whom\b|\bof which one\b|\bgives? way to whom\b", re.I),
     "a stilted phrase: write what you would say"),
    (re.compile(r"\bwho (has|is|does|asks|waits|takes|holds|gives|comes|looks|reads|writes|runs|begins|ends)\b"),
     "'who' for a thread or a program: name it"),
    (re.compile(r"\b(has|have) none\b|\bthere (is|are) none\b|\b(is|are) there no (longer|more)\b"),
     "a negation by 'none': write the positive statement"),
    (re.compile(r";[^;]*;"), "two semicolons: write sentences"),
    (re.compile(r"^(Of|By|From|For|To|In|As|With|Without) (which|whom|what|who|it|them|those|all|others?)\b(?!.*\b" + VERB + r"\b)"),
     "a fragment: give it a subject and a verb"),
]
C_LIKE = re.compile(r"\.(hpp|cpp|h|c|inc|def)$")
HASHED = re.compile(r"\.(py|sh|cmake|toml)$|(^|/)(CMakeLists\.txt|dev)$")


def blocks(path):
    """Yields (line number, text) of each comment or paragraph."""
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = file.read().split("\n") + [""]
    is_document = path.endswith(".md")
    mark = re.compile(r"^\s*//+<?\s?" if C_LIKE.search(path) else r"^\s*#(?!!)\s?")
    first, words, is_code = 0, [], False
    for number, line in enumerate(lines, 1):
        if is_document:
            if line.lstrip().startswith("```"):
                is_code, line = not is_code, ""
            text = "" if is_code or re.match(r"\s*([#|<]|!\[)", line) else line.strip()
            if re.match(r"([-*]|\d+\.)\s", text) and words:  # each item of a list is a block
                yield first, " ".join(words)
                words = []
            text = re.sub(r"^([-*]|\d+\.)\s+", "", text)
        else:
            found = mark.match(line)
            text = line[found.end():].strip() if found else ""
            if re.search(r"\S {3,}\S", text):  # a row of a table
                text = ""
        if text:
            first = first if words else number
            words.append(text)
        elif words:
            yield first, " ".join(words)
            words = []


def sentences(text):
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)  # links
    text = re.sub(r"`[^`]*`", "X", text)
    for sentence in re.split(r"(?<=[.!?:])\s+(?=[A-Z0-9'(])", text):
        if len(sentence.split()) >= 4 and not re.search(r"[{}|]|->|==", sentence):
            yield sentence


def broken_rules(text):
    for sentence in sentences(text):
        length = len(sentence.split())
        if length > MAX_WORDS:
            yield f"{length} words", sentence
        for pattern, why in RULES:
            if pattern.search(sentence):
                yield why, sentence
                break


def long_lines(path):
    """Yields (line number, width) of lines that are too long, except code, tables, headings and what has no gap."""
    is_code = False
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.rstrip("\n")
            is_code ^= line.lstrip().startswith("```")
            unbroken = re.sub(r"`[^`]*`|\[[^]]*\]\([^)]*\)|<a [^>]*>", lambda m: m.group(0).replace(" ", "_"), line)
            has_gap = " " in unbroken[:MAX_WIDTH].lstrip(" -*0123456789.")
            if len(line) > MAX_WIDTH and has_gap and not is_code and not re.match(r"    |\s*[|#]", line):
                yield number, len(line)


def better_words(glossary="docs/glossary.md"):
    """Returns a pattern for the words to avoid, and a dictionary from each of them to its synonym."""
    with open(glossary, encoding="utf-8") as file:
        table = file.read().split("## Words with a better synonym", 1)[1].split("## ", 1)[0]
    better = {}
    for avoided, synonym in re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", table, re.MULTILINE)[1:]:
        better.update((word, synonym) for word in avoided.split(", ") if not word.startswith("-"))
    return re.compile(r"\b(" + "|".join(map(re.escape, better)) + r")\b", re.IGNORECASE), better


def files_in(paths):
    """Returns the files that Git knows below the paths, or all files outside of a repository."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "--", *paths], capture_output=True, text=True)
    if listed.returncode == 0:
        found = listed.stdout.split("\n")
    else:
        found = [p for p in paths if os.path.isfile(p)]
        found += [os.path.join(folder, f) for p in paths for folder, _, files in os.walk(p) for f in files]
    return sorted(filter(os.path.isfile, found))


def folder_of(path):
    """The first two folders of the path."""
    return "/".join(os.path.dirname(path).split("/")[:2]) or "."


def main(arguments):
    if arguments[:1] in (["-h"], ["--help"]):
        print(__doc__.strip())
        return 0
    shows_all = "--all" in arguments
    paths = [a for a in arguments if a != "--all"] or CHECKED
    files = files_in(paths)
    suspects = {}  # by folder: for each block what it breaks
    for path in files:
        if C_LIKE.search(path) or HASHED.search(path) or path.endswith(".md"):
            suspects.setdefault(folder_of(path), []).extend(
                [f"{path}:{line}: {why}: {sentence[:160]}" for why, sentence in broken_rules(text)]
                for line, text in blocks(path)
                if len(text.split()) >= 6
            )
    is_over = False
    avoided, better = better_words()
    for path in files:
        is_prose = C_LIKE.search(path) or path.endswith(".md")
        for line, text in blocks(path) if is_prose else ():
            for word in avoided.findall(re.sub(r"`[^`]*`", "X", text)):
                print(f"{path}:{line}: '{word}': write '{better[word.lower()]}'")
                is_over = True
    for path in files:
        is_document = path.endswith(".md") and (path.startswith("docs/") or "/" not in path)
        if is_document:
            for number, width in long_lines(path):
                print(f"{path}:{number}: {width} characters: wrap the line at {MAX_WIDTH}")
                is_over = True
    for folder, found in suspects.items():
        broken = [lines for lines in found if lines]
        is_folder_over = len(found) >= MIN_BLOCKS and len(broken) > MAX_SHARE * len(found)
        is_over |= is_folder_over
        if is_folder_over or shows_all:
            for lines in broken:
                print("\n".join(lines))
            print(f"{folder}: {len(broken)} of {len(found)} blocks ({100 * len(broken) / max(len(found), 1):.0f} %)")
    return 1 if is_over else 0


sys.exit(main(sys.argv[1:]))
