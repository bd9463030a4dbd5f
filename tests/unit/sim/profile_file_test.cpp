#include "tessera/sim/profile_file.h"

#include <filesystem>
#include <fstream>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace tessera::sim {
namespace {

using ::testing::AllOf;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string fault_of(const std::variant<Profile, ProfileError>& result) {
  const auto* fault = std::get_if<ProfileError>(&result);
  return fault == nullptr ? "no fault" : fault->message;
}
std::string fault_of(const std::string& text) { return fault_of(profile_from_text(text)); }

Profile read(const std::string& text) {
  auto result = profile_from_text(text);
  if (!std::holds_alternative<Profile>(result)) {
    ADD_FAILURE() << fault_of(result);
    return {};
  }
  return std::get<Profile>(std::move(result));
}

// A file that is gone when the test ends.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text)
      : path_(std::filesystem::path(::testing::TempDir()) /
              ("tessera_profile_" + std::to_string(std::random_device()()) + ".json")) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST(ProfileFile, ReadsBackWhatItWrites) {
  for (const std::string_view name : built_in_profile_names()) {
    const Profile& profile = *built_in_profile(name);
    const std::string text = profile_to_text(profile);
    EXPECT_EQ(read(text), profile) << name;
    EXPECT_EQ(profile_to_text(read(text)), text) << name;
  }
}

TEST(ProfileFile, WritesSizesAndAddressesForPeople) {
  const std::string text = profile_to_text(*built_in_profile("tiny"));
  EXPECT_THAT(text, HasSubstr("\"granularity_minimum\": \"64 KiB\""));
  EXPECT_THAT(text, HasSubstr("\"stack_size\": 256"));
  EXPECT_THAT(text, HasSubstr("\"begin\": \"0x10000000\""));
}

TEST(ProfileFile, WritesAProfileThatIsNoUtf8) {
  Profile profile = *built_in_profile("tiny");
  profile.name = "\xff\xfe";
  EXPECT_THAT(profile_to_text(profile), HasSubstr("\"name\""));
}

TEST(ProfileFile, StartsFromAnother) {
  Profile expected = *built_in_profile("h200");
  expected.name = "h200_small";
  expected.memory_total = 40_GiB;
  expected.device_attributes[16] = 66;
  expected.device_attributes.erase(143);
  expected.quirks.partial_mapping = true;
  expected.costs[Call::mem_map] = {.base_ns = 5, .per_unit_ns = 0};
  expected.costs.erase(Call::mem_free);
  expected.export_types = HandleTypes::none;
  expected.not_permitted_types = HandleTypes::fabric | HandleTypes::posix_file_descriptor;
  expected.address_windows = {{DeviceAddress(0x1'0000'0000), 4_GiB}};
  expected.peers = {{true, false}, {true, true}};
  EXPECT_EQ(read(R"({
    "based_on": "h200",
    "name": "h200_small",
    "memory_total": "40GiB",
    "device_attributes": {"16": 66, "143": null},
    "quirks": {"partial_mapping": true},
    "costs": {"mem_map": {"base_ns": 5, "per_unit_ns": 0}, "mem_free": null},
    "export_types": [],
    "not_permitted_types": ["fabric", "posix_file_descriptor"],
    "address_windows": [{"begin": 4294967296, "end": "0x200000000"}],
    "peers": [[true, false], [true, true]]
  })"),
            expected);
}

TEST(ProfileFile, TakesSizesInEachForm) {
  for (const char* size : {"2097152", "\"2097152\"", "\"2097152 B\"", "\"2048 KiB\"", "\"2MiB\""}) {
    EXPECT_EQ(read(R"({"based_on": "h200", "heap_block": )" + std::string(size) + "}").heap_block,
              2_MiB);
  }
  for (const char* size :
       {"-1", "1.5", "\"\"", "\"MiB\"", "\"2  MiB\"", "\"2 MB\"", "\"0x10\"", "\"-2 MiB\"",
        "\"99999999999 TiB\"", "18446744073709551616", "null", "true", "[]", "{}"}) {
    EXPECT_THAT(fault_of(R"({"based_on": "h200", "heap_block": )" + std::string(size) + "}"),
                AllOf(StartsWith("line 1, column 36: heap_block is "),
                      HasSubstr("expected a size below 2^64 bytes")))
        << size;
  }
}

TEST(ProfileFile, NamesLineAndColumnOfWhatIsNoJson) {
  EXPECT_THAT(fault_of(""), StartsWith("line 1, column 1: not JSON: "));
  EXPECT_THAT(fault_of("{\n  \"name\": \"x\",\n  \"driver_version\" 7\n}"),
              StartsWith("line 3, column 20: not JSON: "));
  EXPECT_THAT(fault_of("{\"name\": \"\xff\"}"), StartsWith("line 1, column 10: not JSON: "));
  EXPECT_THAT(fault_of("{\"name\": 1e999}"),
              StartsWith("line 1, column 10: not JSON: number overflow"));
  EXPECT_THAT(fault_of("{} {}"), StartsWith("line 1, column 4: not JSON: "));
  EXPECT_THAT(
      fault_of("{\"name\": \"a\", // comment\n}"),
      Eq("line 1, column 15: not JSON: object key - invalid literal; expected string literal"));
}

TEST(ProfileFile, RefusesWhatJsonLeavesOpen) {
  EXPECT_THAT(fault_of("{\"name\": \"a\",\n \"name\": \"b\"}"),
              Eq("line 2, column 2: \"name\" stands here a second time"));
  EXPECT_THAT(fault_of(std::string(100'000, '[')), Eq("line 1, column 17: nested deeper than 16"));
  std::string many = "{";
  for (int i = 0; i < 2000; ++i) {
    many += "\"" + std::to_string(i) + "\":0,";
  }
  EXPECT_THAT(fault_of(many), HasSubstr("more than 1000 names"));
  EXPECT_THAT(fault_of(std::string(2 << 20, ' ')), StartsWith("longer than 1 MiB"));
}

TEST(ProfileFile, NamesAnUnknownFieldAndANearOne) {
  EXPECT_EQ(fault_of("{\n  \"based_on\": \"h200\",\n  \"memory_totl\": 5\n}"),
            "line 3, column 3: the profile has no field \"memory_totl\"; did you mean "
            "\"memory_total\"?");
  EXPECT_EQ(fault_of(R"({"based_on": "h200", "colour": 5})"),
            "line 1, column 22: the profile has no field \"colour\"");
  EXPECT_EQ(fault_of(R"({"based_on": "h200", "quirks": {"partial_maping": true}})"),
            "line 1, column 33: quirks has no field \"partial_maping\"; did you mean "
            "\"partial_mapping\"?");
  EXPECT_EQ(fault_of(R"({"based_on": "h200", "costs": {"mem_mapp": {}}})"),
            "line 1, column 32: costs has no call \"mem_mapp\"; did you mean \"mem_map\"?");
  EXPECT_THAT(fault_of(R"({"based_on": "h200", "device_attributes": {"warp": 32}})"),
              HasSubstr("device_attributes has no field \"warp\"; expected a number"));
  EXPECT_THAT(fault_of(R"({"based_on": "h200", "device_attributes": {"99999999999": 1}})"),
              HasSubstr("has no field \"99999999999\""));
  EXPECT_THAT(fault_of("{\"based_on\": \"h200\", \"" + std::string(500, 'x') + "\": 1}"),
              HasSubstr("xxx...\""));
}

TEST(ProfileFile, NamesMissingFields) {
  EXPECT_THAT(fault_of("{}"),
              AllOf(StartsWith("line 1, column 1: the profile lacks name, "),
                    HasSubstr("peers, quirks, costs, default_cost"), HasSubstr("\"based_on\"")));
  std::string text = profile_to_text(*built_in_profile("h200"));
  const std::string field = "\"rdma_needs_first_mapping\"";
  text.replace(text.find(field) - 1, field.size() + 7, " ");
  text.erase(text.rfind(',', text.find("},", text.find("\"ignores_unknown"))), 1);
  EXPECT_THAT(fault_of(text), HasSubstr("quirks lacks rdma_needs_first_mapping"));
  EXPECT_THAT(fault_of(R"({"based_on": "h200", "costs": {"mem_map": {"base_ns": 1}}})"),
              HasSubstr("costs.mem_map lacks per_unit_ns"));
}

TEST(ProfileFile, NamesWhatIsOfAnotherType) {
  const auto fault = [](const std::string& fields) {
    return fault_of("{\"based_on\": \"h200\",\n" + fields + "}");
  };
  EXPECT_EQ(fault(R"("name": 5)"), "line 2, column 9: name is 5; expected a string");
  EXPECT_EQ(fault(R"("pages_out": "yes")"),
            "line 2, column 14: pages_out is the string \"yes\"; expected true or false");
  EXPECT_EQ(fault(R"("driver_version": 2147483648)"),
            "line 2, column 19: driver_version is 2147483648; expected a whole number from "
            "-2147483648 to 2147483647");
  EXPECT_THAT(fault(R"("resident_threads": -1)"),
              HasSubstr("is -1; expected a whole number from 0"));
  EXPECT_THAT(fault(R"("driver_version": 1.5)"),
              HasSubstr("is the number \"1.5\"; expected a whole"));
  EXPECT_THAT(fault(R"("device_attributes": [])"), HasSubstr("is an array; expected an object"));
  EXPECT_THAT(fault(R"("device_attributes": {"16": "x"})"),
              HasSubstr("device_attributes.16 is the string \"x\"; expected a whole number"));
  EXPECT_THAT(fault(R"("costs": 1)"), HasSubstr("expected an object of calls"));
  EXPECT_THAT(fault(R"("quirks": null)"), HasSubstr("quirks is null; expected an object"));
  EXPECT_THAT(fault(R"("export_types": "fabric")"), HasSubstr("expected an array of handle types"));
  EXPECT_THAT(
      fault(R"("export_types": ["win23"])"),
      HasSubstr("export_types[0] is the string \"win23\"; expected one of "
                "posix_file_descriptor, win32, win32_kmt, fabric; did you mean \"win32\"?"));
  EXPECT_THAT(fault(R"("peers": {})"), HasSubstr("peers is an object; expected an array"));
  EXPECT_THAT(fault(R"("peers": [[1]])"), HasSubstr("peers[0][0] is 1; expected true or false"));
  EXPECT_THAT(fault(R"("address_windows": [{"begin": 1}])"),
              HasSubstr("address_windows[0] is an object; expected an object with \"begin\""));
  EXPECT_THAT(fault(R"("address_windows": [{"begin": "12", "end": 5}])"),
              HasSubstr("address_windows[0].begin is the string \"12\"; expected an address"));
  EXPECT_THAT(fault(R"("address_windows": [{"begin": "0x20", "end": 5}])"),
              HasSubstr("address_windows[0].end is 0x5; expected more than begin, 0x20"));
  for (const char* window : {"5", R"({"end": 5})", R"({"begin": 1, "end": 5, "size": 4})"}) {
    EXPECT_THAT(fault("\"address_windows\": [" + std::string(window) + "]"),
                HasSubstr("expected an object with \"begin\" and \"end\", and no more"))
        << window;
  }
  EXPECT_THAT(fault(R"("address_windows": [{"begin": false, "end": 5}])"),
              HasSubstr("address_windows[0].begin is false; expected an address"));
  EXPECT_THAT(fault(R"("address_windows": [{"begin": 1, "end": "0xfg"}])"),
              HasSubstr("address_windows[0].end is the string \"0xfg\"; expected an address"));
  EXPECT_THAT(fault(R"("export_types": [5])"),
              HasSubstr("export_types[0] is 5; expected one of posix_file_descriptor"));
  EXPECT_THAT(fault(R"("device_attributes": {"1 KiB": 1})"),
              HasSubstr("has no field \"1 KiB\"; expected a number"));
  EXPECT_THAT(fault_of("[]"), StartsWith("line 1, column 1: the profile is an array"));
}

TEST(ProfileFile, NamesProfilesToStartFrom) {
  EXPECT_THAT(
      fault_of(R"({"based_on": "h20"})"),
      AllOf(StartsWith("line 1, column 14: based_on is the string \"h20\"; built in are h200"),
            HasSubstr("did you mean \"h200\"?")));
  EXPECT_THAT(fault_of(R"({"based_on": 1})"), HasSubstr("based_on is 1; expected one of h200, "));
}

TEST(ProfileFile, ChecksWhatItRead) {
  EXPECT_EQ(fault_of(R"({"based_on": "h200", "heap_block": "3 MiB"})"),
            "the profile contradicts itself:\nheap_block is 3 MiB: it must be a multiple of "
            "reservation_granularity, 2 MiB, such as 2 MiB or 4 MiB");
}

TEST(ProfileFile, LoadsAFile) {
  const TemporaryFile file(R"({"based_on": "tiny", "name": "from_a_file"})");
  const auto result = load_profile(file.path());
  ASSERT_TRUE(std::holds_alternative<Profile>(result)) << fault_of(result);
  EXPECT_EQ(std::get<Profile>(result).name, "from_a_file");
  const TemporaryFile bad("{\n");
  EXPECT_THAT(fault_of(load_profile(bad.path())), StartsWith(bad.path() + ": line 2, column "));
}

// One that cannot be opened, and one that cannot be read.
TEST(ProfileFile, SaysThatAFileCannotBeRead) {
  const std::string path = TemporaryFile("").path();  // gone
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  ASSERT_LT(path.size(), sizeof(address.sun_path));
  path.copy(address.sun_path, path.size());
  ASSERT_EQ(::bind(socket, reinterpret_cast<const struct sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(fault_of(load_profile(path)), path + ": cannot be read");
  ::close(socket);
  ::unlink(path.c_str());
  EXPECT_EQ(fault_of(load_profile("/proc/self/mem")), "/proc/self/mem: cannot be read");
}

TEST(ProfileFile, LoadsABuiltInByName) {
  const auto result = load_profile("odd");
  ASSERT_TRUE(std::holds_alternative<Profile>(result)) << fault_of(result);
  EXPECT_EQ(std::get<Profile>(result), *built_in_profile("odd"));
}

TEST(ProfileFile, SaysWhatItCouldHaveLoaded) {
  EXPECT_EQ(fault_of(load_profile("h2000")),
            "\"h2000\" is no file and no built-in profile; built in are h200, documented, "
            "v100_cuda102, wddm, tiny, odd; did you mean \"h200\"?");
  EXPECT_THAT(fault_of(load_profile(::testing::TempDir())), HasSubstr("is a folder"));
  EXPECT_THAT(fault_of(load_profile("")), HasSubstr("is no file"));
  EXPECT_THAT(fault_of(load_profile(std::string("a\0b", 3))), HasSubstr("is no file"));
  EXPECT_THAT(fault_of(load_profile(std::string(10'000, 'a'))), HasSubstr("is no file"));
}

// An attribute that tells of a capability is turned round, and the fault names it.
TEST(ProfileFile, WantsAttributesThatAgreeWithCapabilities) {
  const Profile& h200 = *built_in_profile("h200");
  for (const std::int32_t number : {83, 102, 103, 104, 105, 107, 115, 124, 128, 132, 141, 145}) {
    const bool has = h200.device_attributes.at(number) != 0;
    const std::string name = std::to_string(number);
    EXPECT_THAT(fault_of(R"({"based_on": "h200", "device_attributes": {")" + name + R"(": )" +
                         (has ? "0" : "1") + "}}"),
                HasSubstr("device_attributes." + name));
  }
}

// Every prefix, and texts with bytes changed: a fault or a profile, never a crash.
TEST(ProfileFile, SurvivesAnyBytes) {
  const std::string text = profile_to_text(*built_in_profile("odd"));
  for (std::size_t size = 0; size < text.size(); size += 7) {
    EXPECT_NE(fault_of(text.substr(0, size)), "");
  }
  std::mt19937_64 random(20240607);
  for (int i = 0; i < 1'000; ++i) {
    std::string changed = text;
    for (std::uint64_t change = random() % 4; change < 4; ++change) {
      const std::size_t place = random() % changed.size();
      changed[place] = static_cast<char>(random() % 256);
    }
    const auto result = profile_from_text(changed);
    if (const auto* profile = std::get_if<Profile>(&result)) {
      ASSERT_EQ(check_profile(*profile), "");
      ASSERT_EQ(read(profile_to_text(*profile)), *profile);
    }
  }
}

}  // namespace
}  // namespace tessera::sim
