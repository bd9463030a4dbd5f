#!/usr/bin/env python3
"""Tests the tests: changes the sources in small ways and sees whether a test notices.

usage: mutate.py generate TREE     make a copy of the sources with all mutants compiled in
       mutate.py run TREE BIN      run the test programs of folder BIN with one mutant live at a time

With --files RE, both only of sources, not headers, whose name the expression finds.

Kinds of mutants:
  rule       a check that refuses a call is switched off
  compare    < becomes <=, == becomes !=, and so on
  logic      && becomes ||, and the other way round
  arithmetic + becomes -, - becomes +, * becomes +
  condition  the condition of an `if` is turned round
  statement  a statement is left out
  boolean    true becomes false, and the other way round

All are compiled at once, behind switches (switch.h), because compiling takes longer than running.
`./dev mutation` does it all; docs/testing.md keeps the score and the survivors with their reasons.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# What is mutated, and what of it is not: code whose job is to print, and the figures of the
# built-in profiles.
FOLDERS = ["core/src", "sim/src"]
LEFT_OUT = re.compile(r"core/src/check\.cpp|core/src/text\.cpp|core/include/tessera/check\.h|"
                      r"sim/src/profile_(h200|documented|odd|tiny|v100_cuda102|wddm)\.cpp")
BINARY = {"<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal", "==": "equal",
          "!=": "not_equal", "+": "plus", "-": "minus", "*": "times"}
LOGIC = {"&&": "both", "||": "either"}
REFUSES = re.compile(r"return\s+(refuse\w*|fail\w*|error\w*|Error\b|invalid\w*|not_\w+|Reason::|"
                     r"Refusal|Finding)|report\(|TESSERA_RULE|findings?\.|add\(")


class Mutant:
    """One change: what to insert and replace, by offset in a file."""

    def __init__(self, kind, file, lines, text, edits):
        self.kind, self.file, self.lines, self.text, self.edits = kind, file, lines, text, edits
        self.key = (file, kind, tuple(edits))

    def describe(self):
        return {"kind": self.kind, "file": self.file, "line": self.lines[0], "text": self.text}


class Finder:
    """Finds mutants in the syntax tree of one translation unit."""

    def __init__(self, clang, root, sources_only):
        self.clang, self.root, self.sources_only = clang, root, sources_only
        self.kinds = clang.CursorKind
        self.texts = {}
        self.mutants = {}
        self.skipped = {self.kinds.STATIC_ASSERT, self.kinds.ENUM_DECL, self.kinds.FIELD_DECL,
                        self.kinds.TYPE_ALIAS_DECL, self.kinds.TEMPLATE_TYPE_PARAMETER,
                        self.kinds.TEMPLATE_NON_TYPE_PARAMETER}

    def wanted(self, name):
        return (any(name.startswith(folder + "/") for folder in FOLDERS)
                and not name.endswith(".def") and not LEFT_OUT.match(name)
                and not (self.sources_only and name.endswith(".h")))

    def relative(self, file):
        try:
            return str(pathlib.Path(file.name).resolve().relative_to(self.root))
        except ValueError:
            return ""

    def text(self, name):
        if name not in self.texts:
            self.texts[name] = (self.root / name).read_bytes()
        return self.texts[name]

    def parse(self, source, arguments):
        unit = self.clang.Index.create().parse(
            str(self.root / source), args=arguments,
            options=self.clang.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD)
        errors = [str(d) for d in unit.diagnostics if d.severity >= 3]
        if errors:
            sys.exit(f"mutate.py: libclang cannot read {source}: {errors[0]}")
        macros = collections.defaultdict(list)
        for cursor in unit.cursor.get_children():
            if cursor.kind == self.kinds.MACRO_INSTANTIATION and cursor.location.file:
                name = self.relative(cursor.location.file)
                if self.wanted(name):
                    macros[name].append((cursor.extent.start.offset, cursor.extent.end.offset))
        self.macros = macros
        for cursor in unit.cursor.get_children():
            if cursor.location.file and self.wanted(self.relative(cursor.location.file)):
                self.walk(cursor, self.relative(cursor.location.file))

    def in_macro(self, name, begin, end):
        return any(b < end and begin < e for b, e in self.macros[name])

    def add(self, kind, name, begin, end, edits):
        if not all(begin <= offset <= end for offset, *_ in edits):
            return
        text = self.text(name)
        line = text.count(b"\n", 0, begin) + 1
        shown = " ".join(text[begin:end].decode(errors="replace").split())[:100]
        lines = range(line, line + 1 + text.count(b"\n", begin, end))
        mutant = Mutant(kind, name, lines, shown, edits)
        self.mutants.setdefault(mutant.key, mutant)

    def walk(self, cursor, name):
        kinds = self.kinds
        if cursor.kind in self.skipped:
            return
        if cursor.kind == kinds.VAR_DECL and self.is_constexpr(cursor, name):
            return
        extent = (cursor.extent.start.offset, cursor.extent.end.offset)
        if not self.in_macro(name, *extent):
            self.look_at(cursor, name, *extent)
        if cursor.kind == kinds.COMPOUND_STMT:
            for child in cursor.get_children():
                self.statement(child, name)
        children = list(cursor.get_children())
        if cursor.kind == kinds.CASE_STMT:
            children = children[1:]
        for child in children:
            self.walk(child, name)

    def is_constexpr(self, cursor, name):
        begin, end = cursor.extent.start.offset, cursor.location.offset
        return b"constexpr" in self.text(name)[begin:end]

    def look_at(self, cursor, name, begin, end):
        kinds = self.kinds
        if cursor.kind == kinds.IF_STMT:
            self.condition(cursor, name)
        elif cursor.kind == kinds.CXX_BOOL_LITERAL_EXPR:
            self.add("boolean", name, begin, end,
                     [(begin, begin, "::tessera_mutation::flip(@, "), (end, end, ")")])
        elif cursor.kind in (kinds.BINARY_OPERATOR, kinds.CALL_EXPR, kinds.UNEXPOSED_EXPR):
            self.binary(cursor, name, begin, end)

    def binary(self, cursor, name, begin, end):
        children = list(cursor.get_children())
        if cursor.kind == self.kinds.CALL_EXPR:
            if not cursor.spelling.startswith("operator"):
                return
            children = list(cursor.get_arguments())
        if len(children) < 2 or children[0] is None or children[-1] is None:
            return
        left, right = children[0].extent, children[-1].extent
        if left.start.offset != begin or right.end.offset != end or left.end.offset > right.start.offset:
            return
        between = self.text(name)[left.end.offset:right.start.offset].decode(errors="replace")
        operator = between.strip()
        at = left.end.offset + len(between) - len(between.lstrip())
        if operator in BINARY:
            if b"{" in self.text(name)[right.start.offset:end][:1]:
                return
            kind = "arithmetic" if operator in "+-*" else "compare"
            if kind == "arithmetic" and self.is_no_number(children[0], children[-1]):
                return
            self.add(kind, name, begin, end,
                     [(begin, begin, f"::tessera_mutation::{BINARY[operator]}(@, "),
                      (at, at + len(operator), ","), (end, end, ")")])
        elif operator in LOGIC:
            self.add("logic", name, begin, end,
                     [(begin, begin, f"::tessera_mutation::{LOGIC[operator]}(@, static_cast<bool>("),
                      (at, at + len(operator), "), [&] { return static_cast<bool>("),
                      (end, end, "); })")])

    def is_no_number(self, left, right):
        names = left.type.get_canonical().spelling + right.type.get_canonical().spelling
        return "string" in names or "*" in names or "char" in names or "iterator" in names

    def condition(self, cursor, name):
        children = list(cursor.get_children())
        branches = [c for c in children if c.kind == self.kinds.COMPOUND_STMT]
        if not branches:
            return
        condition = children[children.index(branches[0]) - 1] if children.index(branches[0]) else None
        if condition is None or condition.kind in (self.kinds.DECL_STMT, self.kinds.VAR_DECL):
            return
        begin, end = condition.extent.start.offset, condition.extent.end.offset
        head = self.text(name)[cursor.extent.start.offset:begin]
        if b"constexpr" in head or self.in_macro(name, begin, end):
            return
        body = self.text(name)[branches[0].extent.start.offset:branches[0].extent.end.offset]
        if REFUSES.search(body.decode(errors="replace")) and len(body) < 600:
            self.add("rule", name, begin, end,
                     [(begin, begin, "!::tessera_mutation::on(@) && ("), (end, end, ")")])
        else:
            self.add("condition", name, begin, end,
                     [(begin, begin, "::tessera_mutation::flip(@, static_cast<bool>("),
                      (end, end, "))")])

    def statement(self, cursor, name):
        kinds = self.kinds
        begin, end = cursor.extent.start.offset, cursor.extent.end.offset
        is_try = self.text(name)[begin:begin + 12] == b"TESSERA_TRY("
        if cursor.kind not in (kinds.CALL_EXPR, kinds.BINARY_OPERATOR, kinds.UNARY_OPERATOR,
                               kinds.COMPOUND_ASSIGNMENT_OPERATOR, kinds.UNEXPOSED_EXPR,
                               kinds.DO_STMT):
            return
        text = self.text(name)
        if cursor.kind == kinds.DO_STMT and not is_try:
            return
        if not is_try and self.in_macro(name, begin, end):
            return
        after = text[end:end + 8]
        semicolon = after.find(b";")
        if semicolon < 0 or after[:semicolon].strip():
            return
        kind = "rule" if is_try else "statement"
        self.add(kind, name, begin, end + semicolon + 1,
                 [(begin, begin, "if (!::tessera_mutation::on(@)) { "),
                  (end + semicolon + 1, end + semicolon + 1, " }")])


def apply(text, mutants):
    """The file with all its mutants. Insertions at one place nest: outer ones come first at a begin
    and last at an end."""
    begins, ends, replaced = (collections.defaultdict(list) for _ in range(3))
    for mutant in mutants:
        first, last = mutant.edits[0], mutant.edits[-1]
        length = last[0] - first[0]
        for begin, end, new in mutant.edits:
            new = new.replace("@", str(mutant.number))
            if end > begin:
                replaced[begin].append((end, new))
            elif begin == first[0]:
                begins[begin].append((length, mutant.number, new))
            else:
                ends[begin].append((length, mutant.number, new))
    out, at = [], 0
    for offset in sorted(set(begins) | set(ends) | set(replaced)):
        out.append(text[at:offset])
        at = offset
        for _, _, new in sorted(ends[offset], key=lambda e: (e[0], -e[1])):
            out.append(new.encode())
        for _, _, new in sorted(begins[offset], key=lambda e: (-e[0], e[1])):
            out.append(new.encode())
        for end, new in replaced[offset][:1]:
            out.append(new.encode())
            at = end
    return b"".join(out + [text[at:]])


def compile_errors(tree, source):
    command = ["g++", "-std=c++20", "-fsyntax-only", "-w", "-I", tree / "core/include", "-I",
               tree / "sim/include", "-I", tree / source.split("/")[0] / "src", tree / source]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode == 0:
        return set()
    found = set()
    for line in done.stderr.splitlines():
        match = re.match(r"([^:]+):(\d+):\d+: (error|note|.*required from)", line)
        if match:
            path = pathlib.Path(match[1]).resolve()
            if path.is_relative_to(tree.resolve()):
                found.add((str(path.relative_to(tree.resolve())), int(match[2])))
    if not found:
        sys.exit(f"mutate.py: cannot tell why {source} does not compile:\n{done.stderr[:2000]}")
    return found


def generate(tree, files):
    import clang.cindex as clang  # python3-clang

    tree = pathlib.Path(tree).resolve()
    if tree.exists():
        shutil.rmtree(tree)
    names = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"],
                           cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)
    # A header is compiled into sources that are not looked at.
    finder = Finder(clang, ROOT, sources_only=bool(files))
    sources = sorted(str(path.relative_to(ROOT)) for folder in ("core/src", "sim/src")
                     for path in (ROOT / folder).rglob("*.cpp"))
    sources = [source for source in sources if re.search(files, source)]
    for source in sources:
        arguments = ["-std=c++20", "-I", ROOT / "core/include", "-I", ROOT / "sim/include", "-I",
                     ROOT / source.split("/")[0] / "src"]
        finder.parse(source, [str(argument) for argument in arguments])
    mutants = sorted(finder.mutants.values(), key=lambda m: (m.file, m.edits[0][0], m.kind))
    for number, mutant in enumerate(mutants, 1):
        mutant.number = number
    print(f"{len(mutants)} mutants found in {len(sources)} sources", flush=True)

    pending = sources
    for _ in range(12):
        by_file = collections.defaultdict(list)
        for mutant in mutants:
            by_file[mutant.file].append(mutant)
        for name in {m.file for m in finder.mutants.values()}:
            text = apply(finder.text(name), by_file[name])
            path = str(HERE / "switch.h")
            (tree / name).write_bytes(f'#include "{path}"\n#line 1\n'.encode() + text)
        bad = set()
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(lambda source: compile_errors(tree, source), pending))
        for errors in results:
            bad |= errors
        if not bad:
            break
        dropped = [m for m in mutants if any((m.file, line) in bad for line in m.lines)]
        if not dropped:
            sys.exit(f"mutate.py: cannot tell which mutants do not compile: {sorted(bad)[:5]}")
        mutants = [m for m in mutants if m not in dropped]
        pending = [s for s, errors in zip(pending, results) if errors] or pending
        print(f"{len(dropped)} mutants do not compile; {len(mutants)} left", flush=True)
    (tree / "mutants.json").write_text(json.dumps(
        {m.number: m.describe() for m in mutants}, indent=1))


def tests_of(program):
    """The names of a GoogleTest program's cases."""
    listed = subprocess.run([program, "--gtest_list_tests"], check=True, capture_output=True,
                            text=True).stdout
    names, suite = [], ""
    for line in listed.splitlines():
        name = line.split("#")[0].rstrip()
        if not line.startswith(" "):
            suite = name if name.endswith(".") else ""
        elif suite and "DISABLED_" not in suite + name:
            names.append(suite + name.strip())
    return names


def look_at_test(test, folder):
    """(seconds, mutants that the test passes by, whether it passes without any mutant)"""
    program, name = test
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        environment = dict(os.environ, TESSERA_MUTANTS_REACHED=file.name)
        begin = time.monotonic()
        try:
            done = subprocess.run([program, f"--gtest_filter={name}", "--gtest_brief=1"],
                                  env=environment, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, timeout=60, check=False)
            passes = done.returncode == 0
        except subprocess.TimeoutExpired:
            passes = False
        seconds = time.monotonic() - begin
        numbers = set(map(int, pathlib.Path(file.name).read_text(encoding="ascii").split()))
    return seconds, numbers, passes


def run_one(number, tests):
    """Who notices the mutant; none if it survives. `tests`: (seconds, program, name), quick first."""
    environment = dict(os.environ, TESSERA_MUTANT=str(number))
    at = 0
    while at < len(tests):
        # Quick ones one program at a time, together: to start a program takes longer than a test.
        program, names, seconds, length = tests[at][1], [], 0.0, 0
        # An argument has 128 KiB at most.
        while at < len(tests) and tests[at][1] == program and length < 100_000:
            seconds += tests[at][0]
            length += len(tests[at][2]) + 1
            names.append(tests[at][2])
            at += 1
        try:
            done = subprocess.run(
                [program, "--gtest_filter=" + ":".join(names), "--gtest_fail_fast",
                 "--gtest_brief=1"], env=environment, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, timeout=5 + 5 * seconds, check=False,
                cwd=os.path.dirname(program))
            if done.returncode != 0:
                return os.path.basename(program)
        except subprocess.TimeoutExpired:
            return os.path.basename(program) + " (too slow)"
    return None


def run(tree, folder, arguments):
    mutants = {int(n): m for n, m in
               json.loads((pathlib.Path(tree) / "mutants.json").read_text()).items()}
    programs = sorted(str(path) for path in pathlib.Path(folder).resolve().glob("*_test")
                      if not re.search(arguments.without, path.name))
    tests = [(program, name) for program in programs for name in tests_of(program)]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        looks = list(pool.map(lambda test: look_at_test(test, tree), tests))
    reaching = collections.defaultdict(list)
    for (program, name), (seconds, reached, passes) in zip(tests, looks):
        if not passes:
            print(f"left out, fails without a mutant: {os.path.basename(program)} {name}")
        elif seconds < arguments.slowest:
            for number in reached:
                reaching[number].append((seconds, program, name))
    numbers = [n for n, m in mutants.items()
               if (not arguments.kind or m["kind"] in arguments.kind)
               and re.search(arguments.files, m["file"])]
    if arguments.sample and arguments.sample < len(numbers):
        numbers = sorted(random.Random(arguments.seed).sample(numbers, arguments.sample))
    print(f"{len(tests)} tests, {len(mutants)} mutants, {len(numbers)} of them tried", flush=True)

    def order(number):
        # Programs by their quickest test; within one, as GoogleTest runs them.
        of_program = collections.defaultdict(list)
        for test in reaching[number]:
            of_program[test[1]].append(test)
        return [test for group in sorted(of_program.values(), key=lambda g: sum(t[0] for t in g))
                for test in group]

    killed, not_reached = collections.Counter(), 0
    total = collections.Counter(mutants[n]["kind"] for n in numbers)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        killers = pool.map(lambda n: run_one(n, order(n)), numbers)
        for number, killer in zip(numbers, killers):
            mutant = mutants[number]
            if killer is None:
                why = "survived" if reaching[number] else "not reached"
                not_reached += not reaching[number]
                print(f"{why}: {mutant['file']}:{mutant['line']}: {mutant['kind']}: "
                      f"{mutant['text']}", flush=True)
            else:
                killed[mutant["kind"]] += 1
    for kind in sorted(total):
        print(f"{kind}: {killed[kind]} of {total[kind]} noticed")
    dead, everything = sum(killed.values()), sum(total.values())
    print(f"mutants noticed: {dead} of {everything}, {100.0 * dead / max(everything, 1):.1f} %; "
          f"{not_reached} of the others are not reached by any test")
    return 0 if everything else 2


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("generate")
    one.add_argument("tree")
    one.add_argument("--files", default="")
    two = commands.add_parser("run")
    two.add_argument("tree")
    two.add_argument("folder")
    two.add_argument("--without", default="rules_off|conformance_cases|example",
                     help="programs that are not asked")
    two.add_argument("--kind", nargs="*", default=[])
    two.add_argument("--files", default="", help="only files whose name this expression finds")
    two.add_argument("--sample", type=int, default=0, help="so many, chosen by --seed; 0: all")
    two.add_argument("--seed", type=int, default=1)
    two.add_argument("--slowest", type=float, default=5, help="tests that take longer are left out")
    two.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    if arguments.command == "generate":
        return generate(arguments.tree, arguments.files) or 0
    return run(arguments.tree, arguments.folder, arguments)


if __name__ == "__main__":
    sys.exit(main())
