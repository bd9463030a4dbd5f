#!/usr/bin/env python3
"""Prints what `llvm-cov export` says on stdin as one line a file and a total for each of core, sim
and the rule core (address space, physical store, and the checks of calls in the simulator and the
validation layer). Headers and sources count alike.

Branches left out, because no test of a correct program can take both sides: those of
TESSERA_CHECK and of functions named check_invariants, whose failing side is a bug's, and those that
the compiler writes for a defaulted comparison or decides itself (if constexpr). How many these are
is printed."""

import json
import os
import re
import sys

CHECKS = os.path.join("core", "include", "tessera", "check.h")
FOLDERS = ("core", "sim")
RULE_CORE = re.compile(r"sim/src/(address_space|physical_store|machine_\w+|context_limits)\.(cpp|h)|"
                       r"core/src/validation/(check_\w+|inspection)\.(cpp|h)|"
                       r"core/include/tessera/rdma_registration\.h")


def percent(part):
    return f"{100.0 * part['covered'] / part['count']:6.1f} %" if part["count"] else "      - "


def row(name, lines, branches):
    print(f"{name:<56} {percent(lines)} {lines['covered']:>6}/{lines['count']:<6}"
          f" {percent(branches)} {branches['covered']:>6}/{branches['count']:<6}")


def branches_of(entry):
    """The sides of the branches that count, and how many do not."""
    with open(entry["filename"], encoding="utf-8") as source:
        lines = source.read().split("\n")
    # Lines of a function whose faults are bugs, by its braces at the first column; and conditions
    # that only the compiler meets, up to their brace.
    not_counted, is_inside, is_constexpr = set(), False, False
    for number, line in enumerate(lines, 1):
        is_inside = (is_inside and line != "}") or "::check_invariants()" in line and line[-1] == "{"
        is_constexpr = is_constexpr or "if constexpr" in line
        if is_inside or is_constexpr or "= default" in line:
            not_counted.add(number)
        is_constexpr = is_constexpr and not line.endswith("{")
    # A branch is [line, column, end line, end column, times true, times false, ...]. A template has
    # it once an instantiation: a side is covered if any of them took it.
    taken, left_out = {}, set()

    def add(branch, place, counts):
        key = (place, *branch[:4])
        if counts:
            was = taken.setdefault(key, [False, False])
            taken[key] = [was[0] or branch[4] > 0, was[1] or branch[5] > 0]
        else:
            left_out.add(key)

    for branch in entry["branches"]:
        add(branch, None, branch[0] not in not_counted)
    for expansion in entry.get("expansions", []):
        is_check = any(name.endswith(CHECKS) for name in expansion["filenames"])
        for branch in expansion["branches"]:
            add(branch, tuple(expansion["source_region"][:4]), not is_check)
    covered = sum(sum(sides) for sides in taken.values())
    return {"count": 2 * len(taken), "covered": covered}, 2 * len(left_out)


def main():
    files = json.load(sys.stdin)["data"][0]["files"]
    totals, left_out = {}, 0
    print(f"{'':<56} {'lines':>22} {'branches':>22}")
    for entry in sorted(files, key=lambda entry: entry["filename"]):
        name = os.path.relpath(entry["filename"])
        if not name.startswith(FOLDERS):
            continue
        lines = entry["summary"]["lines"]
        branches, left = branches_of(entry)
        left_out += left
        row(name, lines, branches)
        names = [name.split(os.sep)[0], "core and sim"]
        for total in names + ["rule core"] * bool(RULE_CORE.match(name)):
            for kind, part in (("lines", lines), ("branches", branches)):
                sums = totals.setdefault(total, {})
                sums = sums.setdefault(kind, {"covered": 0, "count": 0})
                sums["covered"] += part["covered"]
                sums["count"] += part["count"]
    print()
    for total, sums in sorted(totals.items(), key=lambda item: (" " in item[0], item[0])):
        row(total, sums["lines"], sums["branches"])
    print(f"left out: {left_out} sides of TESSERA_CHECK, of check_invariants, of defaulted "
          "comparisons and of if constexpr")


if __name__ == "__main__":
    main()
