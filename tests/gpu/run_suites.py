#!/usr/bin/env python3
"""Runs every suite that needs a GPU and prints a line a suite: what passed, where, and what was not
run and why. What a suite that failed has printed follows its line. Exit status: 0 nothing failed.

usage: run_suites.py BIN_FOLDER [--programs N] [--jobs N]
"""

import argparse
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TIME_LIMIT_S = 900


def run(command, **options):
    """(exit status, what was printed); 124 where the time was over, 127 where there is no such
    program."""
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            timeout=TIME_LIMIT_S, check=False, **options)
        return done.returncode, done.stdout
    except FileNotFoundError:
        return 127, f"no program {command[0]}"
    except subprocess.TimeoutExpired as over:
        printed = over.stdout or b""
        return 124, printed.decode(errors="replace") + f"\nnot over after {TIME_LIMIT_S} s"


class Outcome:
    def __init__(self, line, failed=False, printed=""):
        self.line, self.failed, self.printed = line, failed, printed


def reasons(skipped):
    """'3 not run (2: simulated only; 1: needs 2 devices)'"""
    if not skipped:
        return ""
    counts = {}
    for why in skipped:
        counts[why] = counts.get(why, 0) + 1
    listed = "; ".join(f"{count}: {why}" for why, count in sorted(counts.items()))
    return f", {len(skipped)} not run ({listed})"


def gtest(program):
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        status, printed = run([program, f"--gtest_output=json:{report}", "--gtest_brief=1"])
        if not os.path.exists(report):
            return Outcome(f"no report, exit status {status}", True, printed)
        with open(report, encoding="utf-8") as file:
            suites = json.load(file)["testsuites"]
    tests = [test for suite in suites for test in suite["testsuite"] if test["status"] == "RUN"]
    failed = [test for test in tests if test.get("failures")]
    skipped = [test for test in tests if test["result"] == "SKIPPED"]
    # gtest 1.12 has no reason in its report; the printed line after "Skipped" is it.
    why = re.findall(r"Skipped\n(.+)", printed)
    why += ["no reason given"] * (len(skipped) - len(why))
    passed = len(tests) - len(failed) - len(skipped)
    if not passed and skipped and not failed:
        return Outcome(f"not run: {why[0]}")
    line = f"{passed} of {len(tests)} tests passed{reasons(why[:len(skipped)])}"
    return Outcome(line + (f", {len(failed)} FAILED" if failed else ""), bool(failed), printed)


def example(program):
    status, printed = run([program])
    if status == 77:
        return Outcome("not run: " + printed.strip().removeprefix("skipped: "))
    return Outcome("passed" if status == 0 else f"FAILED, exit status {status}", status != 0,
                   printed)


def tessera(program, arguments):
    """A verb of the command, whose last line says what came of it; exit status 2: cannot run."""
    status, printed = run([program, *arguments])
    last = printed.strip().splitlines()[-1] if printed.strip() else f"exit status {status}"
    if status == 2:
        return Outcome("not run: " + last.removeprefix("tessera: "))
    return Outcome(last, status != 0, printed)


def recording(program, path, jobs):
    name = os.path.basename(path)
    devices = "2" if name.startswith(("dual", "peer")) else "1"
    return tessera(program, ["replay", "--backend", "cuda", "--check", "--devices", devices,
                             "--jobs", str(jobs), path])


def machine():
    status, printed = run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"])
    gpus = printed.strip().splitlines() if status == 0 else []
    if not gpus:
        return "no GPU (nvidia-smi names none)"
    name, _, driver = gpus[0].partition(", ")
    return f"{len(gpus)} x {name}, driver {driver}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bin", help="the folder with the programs")
    parser.add_argument("--programs", type=int, default=4000, help="random programs (4000)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="worker processes")
    options = parser.parse_args()

    def program(name):
        return os.path.join(options.bin, name)

    suites = [("gpu tests", lambda: gtest(program("tessera_gpu_tests"))),
              ("conformance", lambda: gtest(program("cuda_conformance_test")))]
    if os.path.exists(program("vulkan_import")):
        suites.append(("vulkan import", lambda: example(program("vulkan_import"))))
    for path in sorted(glob.glob(os.path.join(ROOT, "tests", "recordings", "*", "*.vmm*"))):
        suites.append((os.path.basename(path),
                       lambda path=path: recording(program("tessera"), path, options.jobs)))
    for devices, share in (("1", 1), ("2", 10)):
        suites.append((f"random programs, {devices} GPU",
                       lambda devices=devices, share=share: tessera(
                           program("tessera"),
                           ["fuzz", "--backend", "cuda", "--devices", devices, "--programs",
                            str(max(options.programs // share, 1)), "--jobs", str(options.jobs)])))

    print(f"on {machine()}", flush=True)
    failures = []
    for name, suite in suites:
        outcome = suite()
        print(f"{name}: {outcome.line}", flush=True)
        if outcome.failed:
            failures.append(name)
            print("    " + outcome.printed.strip().replace("\n", "\n    "), flush=True)
    print(f"failed: {', '.join(failures)}" if failures else "no suite failed", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
