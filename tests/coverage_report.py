#!/usr/bin/env python3
"""Prints what `llvm-cov export -summary-only` says on stdin as one line a file and a total for
each of core and sim. Headers and sources count alike; of templates, every instantiation counts."""

import json
import os
import sys


def percent(part):
    return f"{100.0 * part['covered'] / part['count']:6.1f} %" if part["count"] else "      - "


def row(name, lines, branches):
    print(f"{name:<56} {percent(lines)} {lines['covered']:>6}/{lines['count']:<6}"
          f" {percent(branches)} {branches['covered']:>6}/{branches['count']:<6}")


def main():
    files = json.load(sys.stdin)["data"][0]["files"]
    totals = {}
    print(f"{'':<56} {'lines':>22} {'branches':>22}")
    for entry in sorted(files, key=lambda entry: entry["filename"]):
        name = os.path.relpath(entry["filename"])
        lines, branches = entry["summary"]["lines"], entry["summary"]["branches"]
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


if __name__ == "__main__":
    main()
