"""Report words to avoid, clauses in the place of a subject, and long first lines.

It reads docstrings, comments, messages, names of tests, Markdown, configuration files and commit subjects.
docs/glossary.md lists most of the words. The length of a docstring's first line is checked in ``pyrs`` only. A commit
subject must be short and name a module.

Usage: ``.venv/bin/python .ci/prose.py [PATH ...]``. Without a path it reads ``FOLDERS``, the pages at the top of the
tree and the commit subjects. Code is not checked: fenced blocks, backticks, doctests and identifiers (except names of
tests) are left out.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("pyrs", "tests", "jvm", "docs", "examples", "benchmarks", ".ci", ".mkdocs.yml", "Makefile")
WITH_PROSE = {".py", ".java", ".md", ".yml", ".toml", ".gradle"}
SKIPPED = {"build", ".gradle", ".git", ".venv", "site", "jars", "__pycache__"}
EXEMPT = {"docs/glossary.md", ".ci/prose.py", "tests/project/test_prose.py"}  # they quote the words
SUBJECTS_SINCE = "885be2e"
SUBJECT = re.compile(r"^[a-z][a-z0-9_./, -]*: \S")
SUBJECT_LENGTH = 72
FIRST_LINE_LENGTH = 80

# Patterns of words to avoid, and their replacements. docs/glossary.md lists most of them.
TERMS = [
    (r"(?<!line )endings?(?! (?:in|with|a|an|the)\b)", "terminal operation, terminal signal or shutdown"),
    (r"(?:is|are|was|were|be|been) (?:not |never |then )?(?:told|heard)(?! apart)", "is notified, receives"),
    (r"let(?:s|ting)? (?:it |them |\w+ )?go(?: of)?", "release"),
    (r"strangers?(?:'s?)?|(?:some|any)(?:body|one) else's", "foreign, third-party"),
    (r"who (?:is|are) slow", "slow consumer"),
    (r"ask(?:s|ed|ing)? for", "request; need"),
    (r"hand(?:s|ed|ing)? (?:it |them )?on", "forward, propagate"),
    (
        r"pass(?:es|ed|ing)? (?:it |them )?(?:on(?= to\b|[.,;:)]|$)|by(?! (?:reference|value|keyword|name)))",
        "forward, propagate, bypass",
    ),
    (r"lanes?", "drain loop"),
    (r"relay(?:s|ed)?", "subscription arbiter, sequential source switching"),
    (r"dealers?|dealt(?! with)|deal(?:s|ing)? out", "dispatcher, dispatched"),
    (r"meanwhile", "name the interval; buffered elements"),
    (r"(?<!waiting )(?<!chat )rooms?", "capacity (of a buffer); package or module (of the tree)"),
    (r"(?<![/.])house(?![/.])", "project, code base"),
    (r"one after (?:the other|another)", "sequentially"),
    (r"(?:elements|operators) on time", "time-based operators"),
    (r"as (?:it|they) stands?|as it was(?=[.,;:)]|$)", "unchanged"),
    (r"texts|text (?:checks|of errors)", "argument validation; strings"),
    (r"beside", "compared with, alongside, next to"),
    (r"so many|nought", "n, the count; zero"),
    (r"ha[sd] to(?! do with)", "must, needs to"),
    (r"of (?:yours|mine|ours|theirs)", "your own, the caller's"),
    (r"who(?:m|so)?ever", "the caller, the thread that, the Subscriber that"),
    (r"(?:somebody|someone)(?! else's)", "the caller, a Subscriber, another thread"),
    (r"and such(?! an?\b)", "list the cases, or 'and similar'"),
    (r"look(?:s|ed|ing)? after", "manage, supervise"),
    (r"(?-i:\Atest) (?:what|who(?:ever|se)?|that|where|how|which) \w+", "name the behaviour: test_cancel_stops_..."),
    (r"(?-i:\Atest(?! names\Z)(?: \w+){1,2}\Z)", "name the subject and the expected behaviour: test_cancel_stops_..."),
]
FORBIDDEN = [
    (re.compile(rf"(?<![\w`])(?:{pattern})(?![\w`])", re.IGNORECASE | re.MULTILINE), replacement)
    for pattern, replacement in TERMS
]
# A clause in the place of a subject: "What was held is ...", "That a cancel is ... costs", "Whose turn it is."
OPENER = re.compile(
    r"(?:\A|(?<=[.;:!?]\s)|(?<=\n\n))\s*(?:[-*>|] )?("
    r"(?:What|Whoever|Whatever|Whichever|Whose|Who|How|Why|Which)\b(?:(?!\n\n)[^.?!])*[.!](?=\s|\Z)"
    r"|That (?:a|an|the|its|they|nothing|each|every|all|one|what)\b(?:(?!\n\n)[^.?!])*[.!](?=\s|\Z)"
    r"|(?:Where|When|Whether)\b(?:(?!\n\n)[^.?!,])*[.!](?=\s|\Z))"
)
CODE = re.compile(
    r"```.*?```|``.*?``|`[^`\n]*`|\]\([^)\n]*\)|^[ \t]*(?:>>>|\.\.\.) .*$|<!--.*?-->", re.DOTALL | re.MULTILINE
)


JAVA_PROSE = re.compile(r'/\*.*?\*/|(?:^[ \t]*//[^\n]*\n)+|//[^\n]*|"(?:[^"\\\n]|\\.)*"', re.DOTALL | re.MULTILINE)


def faults(line: int, text: str, sentences: bool = True) -> Iterator[tuple[int, str, str]]:
    """Yield the line, the words found and a suggestion for each fault of a text that begins at ``line``."""
    text = CODE.sub(lambda found: "`" + re.sub(r"[^\n]", " ", found[0])[2:] + "`", text)
    checks = FORBIDDEN + ([(OPENER, "begin with the subject or an imperative")] if sentences else [])
    for pattern, suggestion in checks:
        for found in pattern.finditer(text):
            words = (found[1] if pattern is OPENER else found[0]).split()
            at = line + text.count("\n", 0, found.end() - len(found[0].lstrip()))
            yield at, " ".join(words)[:60], suggestion


def python_prose(source: str) -> Iterator[tuple[int, str, bool]]:
    """Yield the line and text of docstrings, messages, test names and comments, and whether the text has sentences."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value, True
            node.value.value = ""
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.count(" ") > 2:
            yield node.lineno, node.value, False
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test_"):
            yield node.lineno, node.name.replace("_", " "), False
    block: list[str] = []
    start = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            if not block or token.start[0] != start + len(block):
                yield start, "\n".join(block), True
                block, start = [], token.start[0]
            block.append(token.string.lstrip("#: "))
    yield start, "\n".join(block), True


def long_first_lines(source: str) -> Iterator[tuple[int, str, str]]:
    """Yield the docstrings whose first line is too long, as ``faults`` does."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            first_line = (ast.get_docstring(node) or "").partition("\n")[0]
            if len(first_line) > FIRST_LINE_LENGTH:
                yield node.body[0].lineno, first_line, f"a first line of at most {FIRST_LINE_LENGTH} characters"


def prose_of(file: Path) -> Iterator[tuple[int, str, bool]]:
    """Yield the prose of one file, as ``python_prose`` does."""
    if file.suffix not in WITH_PROSE and file.name != "Makefile":
        return  # the file may be binary
    source = file.read_text(encoding="utf-8")
    if file.suffix == ".py":
        yield from python_prose(source)
    elif file.suffix == ".java":
        for found in JAVA_PROSE.finditer(source):
            if found[0][0] != '"' or found[0].count(" ") > 2:
                text = re.sub(r"^[ \t]*(?:\*(?!/)|/\*+|//+) ?|\*/", "", found[0], flags=re.MULTILINE)
                yield source.count("\n", 0, found.start()) + 1, text, found[0][0] != '"'
    elif file.suffix == ".md":
        yield 1, source, True
    else:
        yield 1, source, False


def subject_faults(since: str = SUBJECTS_SINCE) -> Iterator[str]:
    """Yield the commits after ``since`` whose subject is too long or names no module; none in a shallow clone."""
    command = ["git", "-C", str(ROOT), "log", "--no-merges", "--format=%h %s", f"{since}..HEAD"]
    log = subprocess.run(command, capture_output=True, text=True, check=False)
    for commit, _, subject in (line.partition(" ") for line in log.stdout.splitlines() if log.returncode == 0):
        if len(subject) > SUBJECT_LENGTH or not SUBJECT.match(subject):
            yield f"commit {commit}: {subject!r} -> at most {SUBJECT_LENGTH} characters, 'module: imperative'"


def main(arguments: list[str]) -> int:
    """Print the faults of the given files and folders; return 1 if there are any."""
    roots = [Path(name).resolve() for name in arguments] or [*(ROOT / name for name in FOLDERS), *ROOT.glob("*.md")]
    files = {file for root in roots for file in ([root] if root.is_file() else root.rglob("*")) if file.is_file()}
    reports: list[str] = []
    for file in sorted(files):
        name = file.relative_to(ROOT).as_posix() if file.is_relative_to(ROOT) else str(file)
        if not SKIPPED & set(name.split("/")) and name not in EXEMPT:
            found = sorted({fault for piece in prose_of(file) for fault in faults(*piece)})
            if "pyrs" in name.split("/") and file.suffix == ".py":
                found += long_first_lines(file.read_text(encoding="utf-8"))
            reports += [f"{name}:{line}: {words!r} -> {suggestion}" for line, words, suggestion in found]
    reports += [] if arguments else subject_faults()
    print(*reports, f"{len(reports)} to rewrite", sep="\n")
    return int(bool(reports))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
