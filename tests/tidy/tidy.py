#!/usr/bin/env python3
"""Checks of the source tree that no compiler makes.

usage: tidy.py [--root FOLDER] [--write-rules] CHECK...

Each check prints one line a violation, as path:line: what is wrong and what to do instead, and
the exit status is 1 if there was any, 0 if there was none, 77 if the check could not be made
here. tidy_test.py plants a violation of each kind and sees that it is caught.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

SKIPPED = 77
LINES_MAX = 600
COLUMNS_MAX = 100
README_LINES_MAX = 60

CPP = {".h", ".cpp", ".def"}
TEXT = CPP | {".cmake", ".in", ".json", ".md", ".py", ".sh", ".txt", ".yml", ""}

# Files allowed to be longer than LINES_MAX, each with its reason.
LONG_FILES: dict[str, str] = {}

# Headers beyond the standard library that files of core may include, each with its reason.
CORE_EXTRA_INCLUDES: dict[str, set[str]] = {
    # File descriptors are owned and closed.
    "core/src/owners/undo_failure.cpp": {"unistd.h"},
    # Whether an exported descriptor is still open, and the same file: fstat(2).
    "core/src/descriptor_identity.cpp": {"sys/stat.h"},
    # Descriptors are duplicated and closed.
    "core/src/sharing/file_descriptor.cpp": {"fcntl.h", "unistd.h"},
    # The same pages over and over, as the source of a copy of any size.
    "core/src/scenario/repeated_byte.cpp": {"sys/mman.h", "unistd.h"},
    # Exported memory travels over Unix sockets.
    "core/src/sharing/transport.cpp": {"sys/socket.h", "sys/uio.h"},
    # Programs close the descriptors that exports gave them.
    "core/src/testing/program_runner.cpp": {"unistd.h"},
}

# Pattern, and what to use instead. Applied to C++ without comments.
BANNED = [
    (r"#\s*include\s*<expected>", "clang 14 has no std::expected: use tessera/result.h"),
    (r"#\s*include\s*<format>", "g++ 12 and clang 14 have no <format>: use fmt, or streams in core"),
    (r"#\s*include\s*<source_location>",
     "clang 14 has no std::source_location: use __builtin_FILE() and __builtin_LINE()"),
    (r"\bstd::(ranges::)?views\b", "clang 14 cannot compile views of libstdc++ 12: write a loop"),
    (r"\bstd::source_location\b", "clang 14 has no std::source_location"),
    (r"\bstd::expected\b", "clang 14 has no std::expected: use tessera::Result"),
]

STANDARD_HEADERS = set("""
algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv chrono
cinttypes climits clocale cmath codecvt compare complex concepts condition_variable coroutine
csetjmp csignal cstdarg cstddef cstdint cstdio cstdlib cstring ctime cuchar cwchar cwctype deque
exception execution filesystem forward_list fstream functional future initializer_list iomanip ios
iosfwd iostream istream iterator latch limits list locale map memory memory_resource mutex new
numbers numeric optional ostream queue random ranges ratio regex scoped_allocator semaphore set
shared_mutex span sstream stack stdexcept stop_token streambuf string string_view strstream
syncstream system_error thread tuple type_traits typeindex typeinfo unordered_map unordered_set
utility valarray variant vector version
""".split())

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
# Written in two parts, because this file is checked too.
UNFINISHED = re.compile(r"\b(" + "|".join(["FIX" + "ME", "TO" + "DO", "X" * 3]) + r")\b")


def files(root, suffixes):
    """Files of the tree in a fixed order, without build folders and hidden ones (but .ci)."""
    for folder, subfolders, names in os.walk(root):
        at_top = pathlib.Path(folder) == root
        subfolders[:] = sorted(
            name for name in subfolders
            if not (name.startswith(".") and name != ".ci") and name != "__pycache__"
            and not (at_top and (name.startswith("build") or name.startswith("cmake-build"))))
        for name in sorted(names):
            path = pathlib.Path(folder) / name
            if path.suffix in suffixes and not name.startswith(".") and path.is_file():
                yield path


def read(path):
    return path.read_text(encoding="utf-8", errors="replace")


def without_comments(text):
    """C++ with comments blanked, so that line numbers stay. Strings are kept."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)

    def blank(match):
        piece = match.group(0)
        return re.sub(r"[^\n]", " ", piece) if piece.startswith("/") else piece

    return pattern.sub(blank, text)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def part_of(relative):
    """core, sim or backends/cuda for files of a library, otherwise the top-level folder."""
    pieces = relative.parts
    return "/".join(pieces[:2]) if pieces[0] == "backends" and len(pieces) > 2 else pieces[0]


# What the public headers of each part look like in an #include.
PUBLIC = {"sim": "tessera/sim/", "backends/cuda": "tessera/cuda/"}


def part_of_public_header(name):
    for part, prefix in PUBLIC.items():
        if name.startswith(prefix):
            return part
    return "core" if name.startswith("tessera/") else None


def include_problem(root, path, part, opening, name):
    if re.match(r"(cuda|cuda_runtime|cuda_runtime_api|cudaTypedefs)\.h$", name):
        return None if part == "backends/cuda" else "only backends/cuda may include cuda.h"
    library = part == "core" or part == "sim" or part.startswith("backends/")
    public = part_of_public_header(name)
    if public is not None:
        if library and public not in (part, "core"):
            return f"{part} may include only its own headers and core's, not {public}'s"
        return None
    if opening == "<":
        extra = CORE_EXTRA_INCLUDES.get(str(path.relative_to(root)), set())
        if part == "core" and name not in STANDARD_HEADERS | extra:
            return "core may include only the standard library and its own headers"
        return None
    if not library:
        if re.search(r"(^|/)(core|sim|backends/\w+)/src/", name):
            return "private headers of a library are for its own sources only"
        return None
    for base in (path.parent, root / part / "src", root / part / "include"):
        target = pathlib.Path(os.path.normpath(base / name))
        if target.is_file():
            if root / part in target.parents:
                return None
            return f"{part} may include others' headers only as tessera/..., not by path"
    return f"found neither beside the file nor in {part}/src"


def check_includes(root):
    """core <- sim, core <- backends; only public headers; cuda.h only in backends/cuda."""
    for path in files(root, CPP):
        text = without_comments(read(path))
        part = part_of(path.relative_to(root))
        for match in INCLUDE.finditer(text):
            problem = include_problem(root, path, part, *match.groups())
            if problem:
                yield path, line_of(text, match.start(1)), f"includes {match.group(2)}: {problem}"


def check_banned(root):
    """No feature that one of the supported compilers lacks."""
    for path in files(root, CPP):
        text = without_comments(read(path))
        for pattern, instead in BANNED:
            for match in re.finditer(pattern, text):
                yield path, line_of(text, match.start()), f"{match.group(0)}: {instead}"


def check_size(root):
    """No file is longer than LINES_MAX lines."""
    for path in files(root, CPP | {".py", ".cmake"}):
        count = len(read(path).splitlines())
        if count > LINES_MAX and str(path.relative_to(root)) not in LONG_FILES:
            yield path, count, f"{count} lines; split the file at {LINES_MAX} at the latest"


def check_columns(root):
    """No C++ line is longer than COLUMNS_MAX columns; no tabs, no blanks at its end."""
    for path in files(root, CPP):
        for number, line in enumerate(read(path).split("\n"), 1):
            if len(line) > COLUMNS_MAX:
                yield path, number, f"{len(line)} columns; break the line at {COLUMNS_MAX}"
            if "\t" in line:
                yield path, number, "a tab; indent with blanks"
            if line != line.rstrip():
                yield path, number, "blanks at the end of the line"


def check_words(root):
    """Nothing unfinished is left as a note in a file."""
    for path in files(root, TEXT):
        text = read(path)
        for match in UNFINISHED.finditer(text):
            yield path, line_of(text, match.start()), f"{match.group(0)}: finish it, or file an issue"


def named_in_cmake(root):
    named = set()
    for path in files(root, {".txt", ".cmake"}):
        text = re.sub(r"#[^\n]*", "", read(path))
        text = text.replace("${PROJECT_SOURCE_DIR}", str(root))
        for word in re.findall(r"[^\s()\";]+\.cpp", text):
            named.add(pathlib.Path(os.path.normpath(path.parent / word)))
    return named


def check_listed(root):
    """Every source on disk is built: named, not in a comment, by a CMakeLists.txt."""
    named = named_in_cmake(root)
    for path in files(root, {".cpp"}):
        if path not in named:
            yield path, 1, "no CMakeLists.txt names it, so it is neither built nor run; list it"


def check_readmes(root):
    """Top-level folders and each backend say in a README.md of a screen what is in them."""
    folders = [path for path in sorted(root.iterdir())
               if path.is_dir() and path.name[0] != "." and not path.name.startswith("build")
               and not path.name.startswith("cmake-build")]
    backends = root / "backends"
    if backends.is_dir():
        folders += [path for path in sorted(backends.iterdir()) if path.is_dir()]
    for folder in folders:
        readme = folder / "README.md"
        if not readme.is_file():
            yield readme, 1, "missing: say what is here, what is not, where to start"
        elif len(read(readme).splitlines()) > README_LINES_MAX:
            yield readme, README_LINES_MAX, "longer than a screen; move the rest to docs/"


# One entry of rules.def, with its strings; the comment at the top of the table is none.
RULE = re.compile(r"^TESSERA_RULE\((.*?\"\s*)\)$", re.MULTILINE | re.DOTALL)
RULES_DEF = "core/include/tessera/layers/rules.def"
RULES_MD = "docs/rules.md"


def rules_of(text):
    """The entries of rules.def: number, name, call, source, consequence, text, instead, position."""
    for match in RULE.finditer(text):
        pieces = re.split(r",\s*(?=\")", match.group(1).strip(), maxsplit=1)
        words = [word.strip() for word in pieces[0].split(",")]
        # Strings that stand side by side are one.
        joined = re.sub(r"\"\s+\"", "", pieces[1])
        strings = re.findall(r"\"((?:[^\"\\]|\\.)*)\"", joined)
        number, name, call, source, consequence = words[:5]
        yield {"number": number, "name": name, "call": call, "source": source,
               "consequence": consequence.replace("_", " "), "text": strings[0],
               "instead": strings[2], "position": match.start()}


def rules_table(text):
    """docs/rules.md, from the text of rules.def."""
    lines = ["# Rules", "",
             "What the validation layer looks at. Made from `rules.def` by "
             "`python3 tests/tidy/tidy.py --write-rules`; don't edit.", "",
             "Source: the driver API's documentation; observed on an H200 only; or portability: "
             "works here, fails with other drivers. Consequence: what an H200's driver does.", "",
             "| number | rule | call | a correct program | source | consequence |",
             "|---|---|---|---|---|---|"]
    for rule in rules_of(text):
        call = "several" if rule["call"] == "none" else f"`{rule['call']}`"
        lines.append(f"| {rule['number']} | `{rule['name']}` | {call} | {rule['text']} "
                     f"| {rule['source']} | {rule['consequence']} |")
    return "\n".join(lines) + "\n"


def check_rules(root):
    """Each rule has a test that breaks it and one that keeps it; docs/rules.md is up to date."""
    table = root / RULES_DEF
    if not table.is_file():
        return
    text = read(table)
    tests = "".join(read(path) for path in files(root / "tests" / "rules", {".cpp"}))
    for rule in rules_of(text):
        for macro, wish in (("BREAKS|LEAKS", "breaks"), ("KEEPS", "keeps")):
            pattern = rf"TESSERA_(?:{macro})(?:_ON)?\((?:\w+, )?{rule['name']}[,)]"
            if not re.search(pattern, tests):
                yield (table, line_of(text, rule["position"]),
                       f"no test in tests/rules {wish} {rule['name']}; see rule_machine.h")
    page = root / RULES_MD
    if not page.is_file() or read(page) != rules_table(text):
        yield page, 1, "is not what rules.def makes; run tidy.py --write-rules"
# A code block with the file that it shows named above it.
SHOWN = re.compile(r"^<!-- (examples/\S+) -->\n```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def check_examples(root):
    """A code block that says it shows an example shows exactly its text; README.md has one."""
    for path in files(root, {".md"}):
        text = read(path)
        shown = list(SHOWN.finditer(text))
        for match in shown:
            example = root / match.group(1)
            if not example.is_file():
                yield path, line_of(text, match.start()), f"{match.group(1)}: no such file"
            elif read(example) != match.group(2):
                yield (path, line_of(text, match.start()),
                       f"differs from {match.group(1)}: copy the file's text into the block")
        # Without this, a comment that is misspelt would leave the block unchecked.
        if path == root / "README.md" and (root / "examples").is_dir() and not shown:
            yield path, 1, "shows no example: put <!-- examples/FILE --> above a code block"


OSS_FUZZ = "fuzz/oss-fuzz/build.sh"


def check_fuzzers(root):
    """OSS-Fuzz's build script names every fuzz target but the canary, which must fail."""
    script = root / OSS_FUZZ
    folder = root / "fuzz" / "CMakeLists.txt"
    if not folder.is_file():
        return
    named = set(re.findall(r"^  (\w+_fuzz)$", read(script), re.MULTILINE))
    text = re.sub(r"#[^\n]*", "", read(folder))
    built = set(re.findall(r"tessera_add_fuzzer\(\s*(\w+)", text)) - {"canary_fuzz"}
    for target in sorted(built - named):
        yield script, 1, f"does not build {target}; list it under targets"
    for target in sorted(named - built):
        yield script, 1, f"builds {target}, which is no fuzz target to be run; take it out"


def clang_format():
    """A clang-format of version 14: other versions lay out the same code differently."""
    for name in ("clang-format-14", "clang-format"):
        program = shutil.which(name)
        if program:
            version = subprocess.run([program, "--version"], capture_output=True, text=True)
            if re.search(r"version 14\.", version.stdout):
                return program
    return None


def check_format(root):
    """C++ is laid out as .clang-format says."""
    program = clang_format()
    if program is None:
        print("SKIPPED: clang-format 14 is not installed (Debian package clang-format-14)")
        sys.exit(SKIPPED)
    paths = [path for path in files(root, {".h", ".cpp"})]
    if not paths:
        return
    result = subprocess.run([program, "--dry-run", "--Werror", *map(str, paths)],
                            cwd=root, capture_output=True, text=True)
    seen = set()
    for match in re.finditer(r"^(.+?):(\d+):\d+: error:", result.stderr, re.MULTILINE):
        if match.group(1) not in seen:
            seen.add(match.group(1))
            yield pathlib.Path(match.group(1)), int(match.group(2)), "run ./dev format"
    if result.returncode != 0 and not seen:
        yield root / ".clang-format", 1, result.stderr.strip()


CHECKS = {name[len("check_"):]: check for name, check in list(globals().items())
          if name.startswith("check_")}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--write-rules", action="store_true", help="write docs/rules.md")
    parser.add_argument("check", nargs="*", choices=[[], *sorted(CHECKS)])
    arguments = parser.parse_args()
    root = arguments.root.resolve()
    if arguments.write_rules:
        (root / RULES_MD).write_text(rules_table(read(root / RULES_DEF)), encoding="utf-8")
    elif not arguments.check:
        parser.error("name a check")
    count = 0
    for name in arguments.check:
        for path, line, message in CHECKS[name](root):
            shown = path.relative_to(root) if path.is_absolute() else path
            print(f"{shown}:{line}: {message}")
            count += 1
    if count:
        print(f"{count} violations")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
