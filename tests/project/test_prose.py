"""The checker of the project's words reports every word of the glossary, and nothing in code."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| ([^|*]+) \| [^|]+ \|$", GLOSSARY[GLOSSARY.index("## Words") :], re.MULTILINE)
NOT_USED = [word.strip() for row in ROWS if row != "not" for word in row.split(",")]

FAULTLESS = '''
"""Release the buffered elements. ``lane`` and `room` are names here, and a line ending is a term.

>>> house = "so many"
"""

house = "lane"  # "What is this?" asks a question. That is all.
'''


def checked(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / ".ci" / "prose.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_every_word_of_the_glossary_is_reported(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("\n\n".join(f"They say {word} here." for word in NOT_USED), encoding="utf-8")
    done = checked(page)
    lines = {int(line) for line in re.findall(rf"{page}:(\d+):", done.stdout)}
    assert done.returncode == 1
    assert [word for number, word in enumerate(NOT_USED) if 2 * number + 1 not in lines] == []


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("docstring.py", 'def run():\n    """Run it.\n    A lane."""'),
        ("comment.py", "\n\nx = 1  # a lane"),
        ("message.py", '\n\nraise ValueError("it goes through a lane")'),
        ("test_name.py", "\n\ndef test_a_lane_is_empty(): ..."),
        ("test_clause.py", "\n\ndef test_what_is_held_is_dropped(): ..."),
        ("test_short_name.py", "\n\ndef test_demand(): ..."),
        ("clause.py", "def run():\n    # fine\n    '''What is held is dropped.'''"),
        ("Comment.java", "class A {\n  int b; // fine\n  /** A lane. */\n}"),
        ("Message.java", 'class A {\n  int b;\n  String c = "it goes through a lane";\n}'),
        ("page.md", "# Page\n\nWhat is held is dropped."),
    ],
)
def test_a_fault_is_reported_with_its_line(tmp_path: Path, name: str, source: str) -> None:
    file = tmp_path / name
    file.write_text(source, encoding="utf-8")
    assert re.search(rf"{name}:3: .* -> ", checked(file).stdout), checked(file)


def test_code_and_plain_sentences_are_not_reported(tmp_path: Path) -> None:
    file = tmp_path / "fine.py"
    file.write_text(FAULTLESS, encoding="utf-8")
    done = checked(file)
    assert (done.returncode, done.stdout) == (0, "0 to rewrite\n")


@pytest.mark.parametrize(("length", "reported"), [(80, False), (81, True)])
def test_long_first_lines_of_the_package_are_reported(tmp_path: Path, length: int, reported: bool) -> None:
    file = tmp_path / "pyrs" / "long.py"
    file.parent.mkdir()
    file.write_text(f'def run():\n    """{"R" * length}\n\n    {"x" * 100}\n    """', encoding="utf-8")
    assert (f"{file}:2: " in checked(file).stdout) is reported


@pytest.mark.parametrize(
    ("subject", "reported"),
    [
        ("link: refuse fragments before the proof", False),
        ("What was measured of it", True),
        ("link: " + "refuse fragments " * 5, True),
    ],
)
def test_commit_subjects_are_checked(tmp_path: Path, subject: str, reported: bool) -> None:
    def git(*arguments: str) -> str:
        who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        return subprocess.run(
            ["git", *who, *arguments], cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout

    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "start")
    since = git("rev-parse", "HEAD").strip()
    git("commit", "-q", "--allow-empty", "-m", subject)
    (tmp_path / ".ci").mkdir()
    source = (ROOT / ".ci" / "prose.py").read_text(encoding="utf-8")
    script = tmp_path / ".ci" / "prose.py"
    script.write_text(re.sub(r'SUBJECTS_SINCE = ".*"', f'SUBJECTS_SINCE = "{since}"', source), encoding="utf-8")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=False)
    assert ("commit" in done.stdout) is reported, done
    script.write_text(re.sub(r'SUBJECTS_SINCE = ".*"', 'SUBJECTS_SINCE = "0000000"', source), encoding="utf-8")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "0 to rewrite\n"), "without that commit no subject is checked"
