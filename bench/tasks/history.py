"""Tasks about a git history of some hundred commits, made with `git fast-import`."""

import os
import subprocess

from .base import FIRST, LAST, PLAIN, VERBS, Read, Task

REPOSITORY = "history"
COMMITS = 420


def make(writer):
    rng = writer.random("history")
    folder = writer.folder / REPOSITORY
    commits, table = story(rng)
    git = git_in(folder)
    folder.mkdir(parents=True)
    git("init", "--quiet", "--initial-branch=main")
    git("fast-import", "--quiet", input=stream(commits).encode())
    git("reset", "--quiet", "--hard")
    hashes = git("log", "--format=%H").split()[::-1]
    log = Read("git", "git_log", {"repo_path": REPOSITORY, "max_count": COMMITS})
    rounding, author, tagged = (
        next(at for at, commit in enumerate(commits) if commit.get("role") == role) for role in ("rounding", "author", "tables")
    )
    return [
        Task(
            "git-commit",
            "in a history",
            'Which commit of the repository "history" made the "tide table" round half up? Give its full hash.',
            [hashes[rounding]],
            [log],
            context=5,
        ),
        Task(
            "git-author",
            "in a history",
            'Who is the author of the commit "Retire the semaphore driver" in the repository "history"?',
            [commits[author]["author"]],
            [log],
            context=5,
        ),
        Task(
            "git-change",
            "in a history",
            f'In the repository "history", the commit {hashes[tagged][:12]} rewrote a long table. To which value did it set "ballast_ratio"?',
            [table],
            [Read("git", "git_show", {"repo_path": REPOSITORY, "revision": hashes[tagged][:12]})],
        ),
    ]


def story(rng):
    """Returns the commits in order, and the value that the largest of them sets."""
    commits = []
    files = [f"notes/{word}.txt" for word in PLAIN[:20]]
    for at in range(COMMITS):
        about = f"{rng.choice(VERBS).capitalize()} the {rng.choice(PLAIN)} {rng.choice(PLAIN)} ({at})"
        text = "".join(f"{rng.choice(PLAIN)} {rng.choice(PLAIN)} {rng.randint(1, 99)}\n" for _ in range(4))
        commits.append(
            {"about": about, "author": f"{rng.choice(FIRST)} {rng.choice(LAST)}", "file": rng.choice(files), "text": text}
        )
    for role, low, high, about in [
        ("rounding", 60, 150, "Let the tide table round half up"),
        ("author", 160, 250, "Retire the semaphore driver"),
        ("tables", 260, 400, "Rewrite the table of hulls"),
    ]:
        commits[rng.randint(low, high)] |= {"role": role, "about": about}
    lonely = next(commit for commit in commits if commit.get("role") == "author")
    lonely["author"] = f"Yvonne {rng.choice(LAST)}-{rng.choice(LAST)}"
    value = f"0.{rng.randint(10_000, 99_999)}7"
    lines = [f"{rng.choice(PLAIN)}_{rng.choice(PLAIN)}_{at} = {rng.randint(1, 999)}" for at in range(6_000)]
    lines[rng.randint(2_000, 5_000)] = f"ballast_ratio = {value}"
    table = next(commit for commit in commits if commit.get("role") == "tables")
    table |= {"file": "notes/hulls.txt", "text": "\n".join(lines) + "\n"}
    return commits, value


def stream(commits):
    """Returns the input of `git fast-import`. Times are fixed, so hashes depend only on the seed."""
    parts = []
    for at, commit in enumerate(commits):
        name = commit["author"]
        mail = name.lower().replace(" ", ".") + "@example.org"
        when = 1_760_000_000 + at * 5_400
        about, text = commit["about"] + "\n", commit["text"]
        parts.append(
            f"commit refs/heads/main\nauthor {name} <{mail}> {when} +0000\ncommitter {name} <{mail}> {when} +0000\n"
            f"data {len(about)}\n{about}M 100644 inline {commit['file']}\ndata {len(text)}\n{text}\n"
        )
    return "".join(parts)


def git_in(folder):
    # User settings could change hashes or reject folders.
    skip = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment = skip | {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}

    def run(*arguments, input=None):
        command = ["git", "-C", str(folder), *arguments]
        return subprocess.run(command, input=input, capture_output=True, check=True, env=environment).stdout.decode()

    return run
