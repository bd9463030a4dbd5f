#!/usr/bin/env python3
"""Plants violations in a small tree and sees that tidy.py catches each, and nothing else."""

import os
import pathlib
import stat
import subprocess
import sys
import tempfile
import unittest

TIDY = pathlib.Path(__file__).resolve().parent / "tidy.py"

CLEAN = {
    "README.md": "a project\n",
    ".clang-format": "BasedOnStyle: Google\n",
    "core/README.md": "core\n",
    "core/CMakeLists.txt": "tessera_add_library(core SOURCES src/a.cpp)\n",
    "core/include/tessera/a.h": "#pragma once\n#include <vector>\n",
    "core/src/a.cpp": '#include "tessera/a.h"\n\n#include "part/b.h"\n',
    "core/src/part/b.h": "#pragma once\n",
    "sim/README.md": "sim\n",
    "sim/CMakeLists.txt": "tessera_add_library(sim SOURCES src/s.cpp)\n",
    "sim/include/tessera/sim/s.h": '#pragma once\n#include "tessera/a.h"\n',
    "sim/src/s.cpp": '#include "tessera/sim/s.h"\n\n#include <sys/mman.h>\n',
    "backends/README.md": "backends\n",
    "backends/cuda/README.md": "cuda\n",
    "backends/cuda/CMakeLists.txt": "tessera_add_library(cuda SOURCES src/c.cpp)\n",
    "backends/cuda/include/tessera/cuda/c.h": '#pragma once\n#include "tessera/a.h"\n',
    "backends/cuda/src/c.cpp": '#include "tessera/cuda/c.h"\n\n#include <cuda.h>\n',
    "tests/README.md": "tests\n",
    "tests/CMakeLists.txt": "tessera_add_test(t SOURCES a_test.cpp)\n",
    "tests/a_test.cpp": '#include "tessera/sim/s.h"\n',
}


class Tidy(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name).resolve()
        for path, text in CLEAN.items():
            self.plant(path, text)

    def plant(self, path, text):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def run_tidy(self, check, **environment):
        return subprocess.run([sys.executable, str(TIDY), "--root", str(self.root), check],
                              capture_output=True, text=True, env={**os.environ, **environment})

    def expect_clean(self, check):
        result = self.run_tidy(check)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    def expect_caught(self, check, path, *words):
        result = self.run_tidy(check)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        lines = result.stdout.splitlines()
        self.assertEqual(len(lines), 2, result.stdout)
        self.assertTrue(lines[0].startswith(path), lines[0])
        for word in words:
            self.assertIn(word, lines[0])

    def test_clean_tree_has_no_violation(self):
        for check in ("includes", "banned", "size", "columns", "words", "listed", "readmes",
                      "examples"):
            with self.subTest(check):
                self.expect_clean(check)

    def test_include_directions(self):
        cases = [
            ("core/src/a.cpp", '#include "tessera/sim/s.h"', "core may include only"),
            ("core/src/a.cpp", '#include "tessera/cuda/c.h"', "core may include only"),
            ("core/src/a.cpp", "#include <sys/mman.h>", "standard library"),
            ("core/src/a.cpp", "#include <fmt/core.h>", "standard library"),
            ("core/src/a.cpp", '#  include "../../sim/src/x.h"', "core"),
            ("sim/src/s.cpp", '#include "tessera/cuda/c.h"', "sim may include only"),
            ("sim/src/s.cpp", '#include "../../core/src/part/b.h"', "not by path"),
            ("sim/src/s.cpp", '#include "part/b.h"', "found neither"),
            ("sim/src/s.cpp", "#include <cuda.h>", "only backends/cuda"),
            ("backends/cuda/src/c.cpp", '#include "tessera/sim/s.h"', "may include only"),
            ("tests/a_test.cpp", "#include <cuda.h>", "only backends/cuda"),
            ("tests/a_test.cpp", '#include "core/src/part/b.h"', "private headers"),
        ]
        for path, line, message in cases:
            with self.subTest(line, path=path):
                self.plant(path, CLEAN[path] + line + "\n")
                self.expect_caught("includes", path, message)
                self.plant(path, CLEAN[path])

    def test_include_in_a_comment_is_no_include(self):
        self.plant("core/src/a.cpp", '// #include "tessera/sim/s.h"\n/*\n#include <cuda.h>\n*/\n')
        self.expect_clean("includes")

    def test_banned(self):
        for line in ("#include <expected>", "#include <format>", "#include <source_location>",
                     "auto x = v | std::views::take(1);", "auto y = std::ranges::views::all(v);"):
            with self.subTest(line):
                self.plant("sim/src/s.cpp", "\n" + line + "\n")
                self.expect_caught("banned", "sim/src/s.cpp:2:")
        self.plant("sim/src/s.cpp", "// not std::views\n")
        self.expect_clean("banned")

    def test_size(self):
        self.plant("core/src/a.cpp", "\n" * 600)
        self.expect_clean("size")
        self.plant("core/src/a.cpp", "\n" * 601)
        self.expect_caught("size", "core/src/a.cpp", "601 lines")

    def test_columns(self):
        self.plant("core/src/a.cpp", "// " + "\u00e4" * 97 + "\n")
        self.expect_clean("columns")
        self.plant("core/src/a.cpp", "\n// " + "a" * 98 + "\n")
        self.expect_caught("columns", "core/src/a.cpp:2:", "101 columns")
        self.plant("core/src/a.cpp", "\tint x;\n")
        self.expect_caught("columns", "core/src/a.cpp:1:", "tab")
        self.plant("core/src/a.cpp", "int x; \n")
        self.expect_caught("columns", "core/src/a.cpp:1:", "end of the line")

    def test_words(self):
        for word in ("TO" + "DO", "FIX" + "ME"):
            with self.subTest(word):
                self.plant("sim/README.md", f"a\n{word}: b\n")
                self.expect_caught("words", "sim/README.md:2:", word)

    def test_listed(self):
        self.plant("tests/b_test.cpp", "")
        self.expect_caught("listed", "tests/b_test.cpp", "list it")
        self.plant("tests/CMakeLists.txt", CLEAN["tests/CMakeLists.txt"] + "# b_test.cpp\n")
        self.expect_caught("listed", "tests/b_test.cpp", "list it")
        # A list elsewhere that has the same file name is another file.
        self.plant("sim/CMakeLists.txt", CLEAN["sim/CMakeLists.txt"] + "x(b_test.cpp)\n")
        self.expect_caught("listed", "tests/b_test.cpp", "list it")
        self.plant("sim/CMakeLists.txt", CLEAN["sim/CMakeLists.txt"] + "x(../tests/b_test.cpp)\n")
        self.expect_clean("listed")

    def test_fuzzers(self):
        targets = "tessera_add_fuzzer(a_fuzz S)\ntessera_add_fuzzer(\n  b_fuzz S)\n"
        self.plant("fuzz/CMakeLists.txt", targets + "tessera_add_fuzzer(canary_fuzz S)\n")
        self.plant("fuzz/oss-fuzz/build.sh", "targets=(\n  a_fuzz\n  b_fuzz\n)\n")
        self.expect_clean("fuzzers")
        self.plant("fuzz/oss-fuzz/build.sh", "targets=(\n  a_fuzz\n)\n")
        self.expect_caught("fuzzers", "fuzz/oss-fuzz/build.sh:1:", "does not build b_fuzz")
        for extra in ("canary_fuzz", "c_fuzz"):
            self.plant("fuzz/oss-fuzz/build.sh", f"(\n  a_fuzz\n  b_fuzz\n  {extra}\n)\n")
            self.expect_caught("fuzzers", "fuzz/oss-fuzz/build.sh:1:", f"builds {extra}")

    def test_readmes(self):
        (self.root / "backends/cuda/README.md").unlink()
        self.expect_caught("readmes", "backends/cuda/README.md", "missing")
        self.plant("backends/cuda/README.md", "\n" * 61)
        self.expect_caught("readmes", "backends/cuda/README.md", "screen")

    def plant_rule(self):
        self.plant("core/include/tessera/layers/rules.def",
                   '// TESSERA_RULE(number, name, ...)\nTESSERA_RULE(101, no_hole, mem_unmap, '
                   'documented,\n             accepted_silently, invalid_value, "a range has "\n'
                   '             "no, say, holes", "{0:x} is one", "fill it")\n')
        self.run_tidy("--write-rules")

    def test_rules(self):
        self.plant("docs/README.md", "docs\n")
        self.plant("docs/rules.md", "")
        self.plant_rule()
        self.assertIn("| 101 | `no_hole` | `mem_unmap` | a range has no, say, holes | documented "
                      "| accepted silently |",
                      (self.root / "docs/rules.md").read_text(encoding="utf-8"))
        tests = "TESSERA_BREAKS(no_hole) {}\nTESSERA_KEEPS_ON(h200, no_hole) {}\n"
        self.plant("tests/rules/a_test.cpp", tests)
        self.expect_clean("rules")
        for missing, word in (("TESSERA_BREAKS(no_hole)", "breaks"), ("KEEPS_ON", "keeps")):
            with self.subTest(missing):
                self.plant("tests/rules/a_test.cpp", tests.replace(missing, "OTHER"))
                self.expect_caught("rules", "core/include/tessera/layers/rules.def:2:", word)
        self.plant("tests/rules/a_test.cpp", tests.replace("BREAKS(no_hole)", "LEAKS(no_hole, x)"))
        self.expect_clean("rules")
        self.plant("docs/rules.md", "# Rules\n")
        self.expect_caught("rules", "docs/rules.md:1:", "write-rules")

    def test_examples(self):
        shown = "a project\n\n<!-- examples/e.cpp -->\n```cpp\nint main() {}\n```\n"
        self.plant("README.md", shown)
        self.expect_caught("examples", "README.md:3:", "no such file")
        self.plant("examples/e.cpp", "int main() {}\n")
        self.expect_clean("examples")
        self.plant("examples/e.cpp", "int main() {}\n\n")
        self.expect_caught("examples", "README.md:3:", "differs")
        self.plant("README.md", shown.replace("<!-- examples", "<!-- example"))
        self.expect_caught("examples", "README.md:1:", "shows no example")

    def test_build_folders_are_not_read(self):
        self.plant("build/dev/x_test.cpp", "#include <cuda.h>\n")
        for check in ("includes", "listed", "readmes"):
            self.expect_clean(check)

    def test_format_is_skipped_without_clang_format(self):
        result = self.run_tidy("format", PATH="/nonexistent")
        self.assertEqual(result.returncode, 77)
        self.assertIn("SKIPPED", result.stdout)

    def test_format_names_the_file(self):
        # Stands in for clang-format, so that the test needs none.
        program = self.root / "bin" / "clang-format-14"
        self.plant("bin/README.md", "bin\n")
        self.plant("bin/clang-format-14",
                   "#!/bin/sh\ncase $1 in --version) echo 'version 14.0.6'; exit 0;; esac\n"
                   "echo \"$PWD/sim/src/s.cpp:3:1: error: code should be clang-formatted\" >&2\n"
                   "exit 1\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        result = self.run_tidy("format", PATH=f"{program.parent}:{os.environ['PATH']}")
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertIn("sim/src/s.cpp:3: run ./dev format", result.stdout)


if __name__ == "__main__":
    unittest.main()
