#!/usr/bin/env python3
"""Prints what `llvm-cov export` says on stdin as one line a file and a total for each of core and
sim. Headers and sources count alike.

Branches left out, because no test of a correct program can take both sides: those of
TESSERA_CHECK, whose failing side is a bug's, and those that the compiler writes for a defaulted
comparison. How many these are is printed."""

import json
import os
import sys

CHECKS = os.path.join("core", "include", "tessera", "check.h")


def percent(part):
    return f"{100.0 * part['covered'] / part['count']:6.1f} %" if part["count"] else "      - "


def row(name, lines, branches):
    print(f"{name:<56} {percent(lines)} {lines['covered']:>6}/{lines['count']:<6}"
          f" {percent(branches)} {branches['covered']:>6}/{branches['count']:<6}")


def branches_of(entry):
    """The sides of the branches that count, and how many do not."""
    with open(entry["filename"], encoding="utf-8") as source:
        lines = source.read().split("\n")
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
        add(branch, None, "= default" not in lines[branch[0] - 1])
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
        lines = entry["summary"]["lines"]
        branches, not_counted = branches_of(entry)
        left_out += not_counted
        row(name, lines, branches)
        for total in (name.split(os.sep)[0], "core and sim"):
            for kind, part in (("lines", lines), ("branches", branches)):
                sums = totals.setdefault(total, {})
                sums = sums.setdefault(kind, {"covered": 0, "count": 0})
                sums["covered"] += part["covered"]
                sums["count"] += part["count"]
    print()
    for total, sums in sorted(totals.items(), key=lambda item: (" " in item[0], item[0])):
        row(total, sums["lines"], sums["branches"])
    print(f"left out: {left_out} sides of TESSERA_CHECK and of defaulted comparisons")


if __name__ == "__main__":
    main()
