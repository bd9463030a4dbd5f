// The `tessera` command as a user runs it: output, exit codes, worker processes.
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tessera::tools {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

struct CommandResult {
  int exit_code = -1;
  std::string output;  // standard output and standard error
};

class Command : public testing::Test {
 protected:
  void SetUp() override {
    directory_ =
        std::filesystem::path(testing::TempDir()) / ("tessera_command_" + std::to_string(getpid()));
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string file(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = directory_ / name;
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }

  static CommandResult run(const std::string& arguments) {
    return shell(std::string(TESSERA_COMMAND) + " " + arguments);
  }

  static CommandResult shell(const std::string& command) {
    const std::string line = "{ " + command + "; } 2>&1";
    CommandResult result;
    FILE* pipe = popen(line.c_str(), "r");
    std::array<char, 4096> part = {};
    for (std::size_t size = 0; (size = std::fread(part.data(), 1, part.size(), pipe)) > 0;) {
      result.output.append(part.data(), size);
    }
    const int status = pclose(pipe);
    result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return result;
  }

  std::filesystem::path directory_;
};

constexpr const char* grow =
    "# grows\ncase grow\n  reserve r0 size=8u => OK aligned=2097152\n"
    "  create  h0 size=1u => OK\n  map r0 handle=h0 size=1u => OK\nend\n";

TEST_F(Command, ReplaysToTheSameTextWhereAnswersAreTheSame) {
  const CommandResult result = run("replay " + file("grow.vmm", grow));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.output, grow);
}

TEST_F(Command, ChecksAndCountsDifferences) {
  const std::string path = file("a.vmm",
                                "case a\n  create h0 size=1u => INVALID_VALUE\n  release h0 => OK\n"
                                "  release h0\nend\n");
  const CommandResult result = run("replay --check " + path);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.output, path + ":2 case a: create h0 size=1u: expected INVALID_VALUE, got OK\n" +
                               "checked 2 calls in 1 cases: 1 differ\n");
}

TEST_F(Command, ShowsTheFirst20Differences) {
  std::string text = "case a\n";
  for (int i = 0; i < 30; ++i) {
    text += "  release null => OK\n";
  }
  const CommandResult result = run("replay --check " + file("many.vmm", text + "end\n"));
  EXPECT_EQ(std::count(result.output.begin(), result.output.end(), '\n'), 21);
  EXPECT_THAT(result.output, EndsWith("checked 30 calls in 1 cases: 30 differ\n"));
}

TEST_F(Command, SaysWhatIsWrongWithAFile) {
  const CommandResult typo = run("replay " + file("t.vmm", "case a\n  reserve r0 sz=1u\nend\n"));
  EXPECT_EQ(typo.exit_code, 2);
  EXPECT_THAT(typo.output, AllOf(HasSubstr("t.vmm:2:14: unknown key `sz`"), HasSubstr("`size`")));
  const CommandResult missing = run("replay " + (directory_ / "none.vmm").string());
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.output, HasSubstr("cannot be opened"));
  const CommandResult directory = run("replay " + directory_.string());
  EXPECT_EQ(directory.exit_code, 2);
  EXPECT_THAT(directory.output, HasSubstr("this is a directory"));
  const CommandResult cut =
      run("replay " + file("cut.vmm.gz", std::string("\x1f\x8b\x08\0\0\0\0\0\0\3", 10)));
  EXPECT_EQ(cut.exit_code, 2);
  EXPECT_THAT(cut.output, HasSubstr("cut off"));
}

TEST_F(Command, SaysWhatWouldWorkAfterBadUsage) {
  const std::string path = file("grow.vmm", grow);
  const struct {
    std::string arguments;
    const char* message;
  } uses[] = {
      {"", "use replay, record, check, fuzz or demo"},
      {"reply " + path, "no verb `reply`"},
      {"replay", "FILE"},
      {"replay --backend gpu " + path, "use sim or cuda"},
      {"replay --profile h20 " + path, "h200"},
      {"replay --devices 0 " + path, "--devices"},
      {"fuzz --programs 0", "--programs"},
      {"record -o " + directory_.string() + " " + path + " " + path, "would both be written to"},
      {"demo --recordings " + directory_.string() + "/none", "--recordings"}};
  for (const auto& use : uses) {
    const CommandResult result = run(use.arguments);
    EXPECT_EQ(result.exit_code, 2) << use.arguments;
    EXPECT_THAT(result.output, HasSubstr(use.message)) << use.arguments;
  }
}

TEST_F(Command, SaysThatItCannotWrite) {
  for (const char* arguments : {"--help", "--version", "fuzz --help", "fuzz --programs 1"}) {
    const CommandResult result = run(std::string(arguments) + " 2>&1 >/dev/full");
    EXPECT_EQ(result.exit_code, 2) << arguments;
    EXPECT_THAT(result.output, HasSubstr("could not be written: No space left")) << arguments;
  }
}

TEST_F(Command, SaysWhatItDidWhenItIsInterrupted) {
  const std::string command = TESSERA_COMMAND;
  const std::string line = "timeout --foreground --preserve-status --signal INT 1 " + command +
                           " fuzz --seconds 600; echo ended by $?";
  const CommandResult result = shell(line);
  EXPECT_THAT(result.output, AllOf(HasSubstr("interrupted: "), HasSubstr("no difference"),
                                   HasSubstr("ended by 130")));
}

TEST_F(Command, ChecksFilesWhoseBytesAreNoText) {
  const std::string path = file("bytes.vmm", "case x\377\n  unmap 0x1000 size=0\nend\n");
  const CommandResult json = run("check --json " + path);
  EXPECT_EQ(json.exit_code, 1);
  EXPECT_THAT(json.output, HasSubstr("unmap_size_zero"));
}

TEST_F(Command, GivesTheSameAnswersFromWorkers) {
  const std::string recording = std::string(TESSERA_RECORDINGS_DIR) + "/h200-580.159.04/single.vmm";
  for (const char* options : {"--isolate", "--jobs 2"}) {
    const CommandResult result = run("replay --check " + std::string(options) + " " + recording);
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.output, "checked 1339 calls in 209 cases: 0 differ\n");
  }
}

TEST_F(Command, RunsDifferencesFromSharedWorkersAgainAlone) {
  const std::string path = file("d.vmm", "case a\n  release null => OK\nend\n");
  const CommandResult shared_worker = run("replay --check --isolate " + path);
  EXPECT_EQ(shared_worker.exit_code, 1);
  EXPECT_THAT(shared_worker.output, AllOf(HasSubstr("run again"), HasSubstr("1 differ\n")));
  const CommandResult own_worker = run("replay --check --isolate --batch 1 " + path);
  EXPECT_THAT(own_worker.output, Not(HasSubstr("run again")));
}

constexpr const char* shared =
    "case shared\n  create h0 size=1u handle=fd\n  export f0 handle=h0\n  reserve r0 size=1u\n"
    "  map r0 size=1u handle=h0\n  setaccess r0 size=1u\n  memset r0 size=1u val=5\n"
    "  ipc.child fd=f0 size=1u val=9\n  expect r0 size=1u val=9\nend\n";

TEST_F(Command, SharesMemoryWithAnotherProcess) {
  for (const char* options : {"", "--isolate "}) {
    const CommandResult result = run("replay " + std::string(options) + file("s.vmm", shared));
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_THAT(result.output,
                AllOf(HasSubstr("child=[import:OK reserve:OK map:OK setaccess:OK read:OK byte:5 "
                                "memset:OK props:OK export:INVALID_VALUE"),
                      HasSubstr("expect r0 size=1u val=9 => OK match=1")));
  }
}

TEST_F(Command, RecordsUnderAHeaderAndReadsThatBack) {
  const std::string input = file("grow.vmm", grow);
  const std::string output = (directory_ / "recorded.vmm.gz").string();
  const CommandResult recorded =
      run("record --backend sim --profile h200 --repeat 2 -o " + output + " " + input);
  EXPECT_EQ(recorded.exit_code, 0) << recorded.output;
  const CommandResult replayed = run("replay " + output);
  EXPECT_THAT(
      replayed.output,
      AllOf(HasSubstr("# Recorded by tessera record, "), HasSubstr("# CUDA: 13.0\n"),
            HasSubstr("# GPU: NVIDIA_H200, devices 1\n"), HasSubstr("# Runs: 2;"), EndsWith(grow)));
  EXPECT_EQ(run("replay --check " + output).exit_code, 0);
}

TEST_F(Command, ChecksTheRules) {
  const std::string clean = file("clean.vmm",
                                 "case clean\n  reserve r0 size=1u\n  create h0 size=1u\n"
                                 "  map r0 size=1u handle=h0\n  release h0\n  unmap r0 size=1u\n"
                                 "  addrfree r0 size=1u\nend\n");
  const CommandResult none = run("check " + clean);
  EXPECT_EQ(none.exit_code, 0);
  EXPECT_EQ(none.output, "checked 6 calls in 1 cases: 0 findings\n");

  const std::string path =
      file("bad.vmm", "case bad\n  reserve r0 size=4u\n  unmap r0 size=4u\nend\n");
  const CommandResult some = run("check " + path);
  EXPECT_EQ(some.exit_code, 1);
  EXPECT_THAT(some.output,
              AllOf(HasSubstr(path + ":3 case bad: call 6, mem_unmap: rule unmap_nothing (413): "),
                    HasSubstr(path + ":1 case bad: at the end: rule leak_reservation (1007): "),
                    EndsWith("checked 2 calls in 1 cases: 2 findings\n")));
  EXPECT_THAT(run("check --no-leaks " + path).output,
              EndsWith("checked 2 calls in 1 cases: 1 findings\n"));
  const CommandResult json = run("check --json --no-leaks " + path);
  EXPECT_EQ(json.exit_code, 1);
  EXPECT_THAT(json.output,
              AllOf(HasSubstr("\"calls\": 2"), HasSubstr("\"rule\": \"unmap_nothing\""),
                    HasSubstr("\"consequence\": \"accepted silently\""), EndsWith("}\n")));
  EXPECT_EQ(run("check " + (directory_ / "none.vmm").string()).exit_code, 2);
  EXPECT_EQ(run("check --profile h20 " + path).exit_code, 2);
}

TEST_F(Command, RunsItsDemo) {
  const CommandResult result = run("demo");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.output, AllOf(HasSubstr("single.vmm"), HasSubstr("1339 calls"),
                                   HasSubstr("reserve r0 size=32u => OK aligned=2097152")));
}

}  // namespace
}  // namespace tessera::tools
