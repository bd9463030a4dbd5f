#include <algorithm>
#include <random>
#include <string>

#include <gmock/gmock.h>

#include "support/matchers.h"
#include "tessera/sharing/memory_description.h"

namespace tessera {
namespace {

using test::fails_with;
using test::is_ok;
using test::is_ok_and_holds;
using testing::HasSubstr;

MemoryDescription some_description() {
  MemoryDescription description;
  description.pieces.push_back({.size = 2_MiB,
                                .properties = {.location = on_device(DeviceOrdinal(3)),
                                               .compression = Compression::generic,
                                               .gpu_direct_rdma_capable = 1,
                                               .usage = 0x1234}});
  description.pieces.push_back(
      {.size = Bytes(0x0102030405060000),
       .properties = {.location = {.type = LocationType::host_numa, .id = 1}}});
  return description;
}

MemoryDescription fabric_description() {
  MemoryDescription description = {.type = HandleTypes::fabric,
                                   .pieces = {{.size = 4_MiB, .properties = {}}}};
  description.pieces[0].fabric.fill(std::byte{0x5a});
  return description;
}

using Bytestring = std::vector<std::byte>;

Bytestring some_message() { return message::encode(some_description()); }

// A message with `size` bytes of a field replaced.
Bytestring with_field(Bytestring message, std::size_t at, std::size_t size, std::uint64_t value) {
  for (std::size_t i = 0; i < size; ++i) {
    message[at + i] = static_cast<std::byte>(value >> (8 * i));
  }
  return message;
}

std::string why(const Bytestring& message) {
  const auto decoded = message::decode(message);
  return decoded ? "accepted" : explain(decoded.error());
}

TEST(MemoryDescription, ComesBackAsItWas) {
  EXPECT_THAT(message::decode(some_message()), is_ok_and_holds(some_description()));
  EXPECT_THAT(message::decode(message::encode(fabric_description())),
              is_ok_and_holds(fabric_description()));
}

TEST(MemoryDescription, CountsItsBytes) {
  EXPECT_EQ(some_description().total(), 2_MiB + Bytes(0x0102030405060000));
}

TEST(MemoryDescription, IsWrittenLittleEndian) {
  const Bytestring message = some_message();
  ASSERT_EQ(message.size(), message::header_size + 2 * message::record_size);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(message.data()), 8), "TSSRAMEM");
  EXPECT_EQ(message[8], std::byte{1});   // version
  EXPECT_EQ(message[12], std::byte{1});  // POSIX descriptors
  EXPECT_EQ(message[16], std::byte{2});  // pieces
  EXPECT_EQ(message[20], std::byte{96});
  const std::size_t second = message::header_size + message::record_size;
  EXPECT_EQ(message[second], std::byte{0});
  EXPECT_EQ(message[second + 2], std::byte{6});
  EXPECT_EQ(message[second + 7], std::byte{1});
}

TEST(MemoryDescription, RefusesEachWrongHeaderField) {
  const Bytestring good = some_message();
  EXPECT_EQ(
      why(with_field(good, 0, 8, 0x1234)),
      "the message begins with 0x1234 instead of 0x4d454d4152535354: the peer sends something "
      "else");
  EXPECT_EQ(why(with_field(good, 8, 4, 2)), "the message has version 2; this library reads 1");
  EXPECT_THAT(why(with_field(good, 12, 4, 2)),
              HasSubstr("handle type 0x2 cannot be sent to another process here"));
  for (const std::uint64_t type : {0ULL, 3ULL, 4ULL, 9ULL, 16ULL, 0xffffffffULL}) {
    EXPECT_THAT(message::decode(with_field(good, 12, 4, type)),
                fails_with(ErrorCode::not_supported));
  }
  EXPECT_EQ(why(with_field(good, 16, 4, 0)),
            "the message is of 0 pieces; 1 to 65536 can be sent at once");
  EXPECT_EQ(why(with_field(good, 16, 4, 65537)),
            "the message is of 65537 pieces; 1 to 65536 can be sent at once");
  EXPECT_EQ(why(with_field(good, 16, 4, 3)), "the message has 192 bytes; 288 are needed");
  EXPECT_EQ(why(with_field(good, 20, 4, 95)), "the message has records of 95 bytes; 96 are needed");
  EXPECT_THAT(why(with_field(good, 24, 8, 4096)),
              HasSubstr("the message says 4 KiB (4096) in total; its pieces add up to"));
}

TEST(MemoryDescription, RefusesEachWrongRecordField) {
  const Bytestring good = some_message();
  const std::size_t second = message::header_size + message::record_size;
  EXPECT_EQ(why(with_field(good, second, 8, 0)), "piece 1 of 2 has size 0");
  EXPECT_EQ(why(with_field(good, second, 8, ~std::uint64_t{0})),
            "the sizes of pieces 0 to 1 add up to more than 64 bits count");
  EXPECT_EQ(why(with_field(good, second + 8, 4, 2)),
            "piece 1 has allocation type 2; pinned (1) can be shared");
  EXPECT_THAT(why(with_field(good, second + 12, 4, 0)),
              HasSubstr("piece 1 has location type 0 with number 1"));
  EXPECT_THAT(why(with_field(good, second + 12, 4, 5)), HasSubstr("location type 5"));
  EXPECT_THAT(why(with_field(good, second + 16, 4, 0xffffffff)), HasSubstr("number -1"));
  EXPECT_EQ(why(with_field(good, second + 20, 1, 2)),
            "piece 1 has compression 2 and GPU-direct RDMA 0; each is 0 or 1");
  EXPECT_EQ(why(with_field(good, second + 21, 1, 255)),
            "piece 1 has compression 0 and GPU-direct RDMA 255; each is 0 or 1");
  EXPECT_EQ(why(with_field(good, second + 24, 1, 1)),
            "piece 1 has bytes that must be 0 and are not");
  EXPECT_EQ(why(with_field(good, second + 95, 1, 1)),
            "piece 1 has bytes that must be 0 and are not");
}

TEST(MemoryDescription, RefusesWhatIsCutAnywhere) {
  const Bytestring good = some_message();
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_THAT(message::decode(std::span(good).first(size)), fails_with(ErrorCode::invalid_value))
        << size;
  }
  Bytestring longer = good;
  longer.push_back(std::byte{0});
  EXPECT_EQ(why(longer), "the message has 193 bytes; 192 are needed");
}

// Whatever is accepted means what was written: it encodes to the same bytes.
TEST(MemoryDescription, AcceptsNothingThatItWouldNotWrite) {
  std::mt19937 random(20240229);
  const std::array goods = {some_message(), message::encode(fabric_description())};
  std::size_t accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    Bytestring bytes = goods[random() % goods.size()];
    for (std::uint_fast32_t flips = 1 + random() % 3; flips > 0; --flips) {
      bytes[random() % bytes.size()] ^= static_cast<std::byte>(1U << (random() % 8));
    }
    if (const auto decoded = message::decode(bytes)) {
      EXPECT_EQ(message::encode(*decoded), bytes);
      ++accepted;
    }
  }
  EXPECT_GT(accepted, 0U);  // fabric handles are any bytes
  EXPECT_LT(accepted, 20000U);
}

TEST(MemoryDescription, IsCheckedBeforeItIsSent) {
  EXPECT_THAT(check(some_description()), is_ok());
  EXPECT_THAT(check(MemoryDescription()), fails_with(ErrorCode::invalid_value));
  MemoryDescription windows = some_description();
  windows.type = HandleTypes::win32;
  EXPECT_THAT(check(windows), fails_with(ErrorCode::not_supported));
  MemoryDescription large = some_description();
  large.pieces.resize(message::pieces_max + 1, large.pieces[0]);
  EXPECT_THAT(check(large), fails_with(ErrorCode::invalid_value));
  large.pieces.pop_back();
  large.pieces[1].size = 2_MiB;
  EXPECT_THAT(check(large), is_ok());
  MemoryDescription beyond = large;
  beyond.pieces[0].size = Bytes(~std::uint64_t{0});
  EXPECT_THAT(check(beyond), fails_with(ErrorCode::invalid_value));
  large.pieces[7].properties.location.id = -1;
  EXPECT_THAT(check(large), fails_with(ErrorCode::invalid_value));
}

TEST(Receipt, SaysHowItWent) {
  EXPECT_THAT(message::decode_receipt(message::encode_receipt({})), is_ok());
  const Status failed =
      message::decode_receipt(message::encode_receipt(Error{.code = ErrorCode::out_of_memory}));
  ASSERT_THAT(failed, fails_with(ErrorCode::out_of_memory));
  EXPECT_EQ(failed.error().reason, Reason::peer_did_not_import);
}

TEST(Receipt, RefusesAnythingElse) {
  auto bytes = message::encode_receipt({});
  EXPECT_THAT(message::decode_receipt(std::span(bytes).first(11)),
              fails_with(ErrorCode::invalid_value));
  bytes[3] ^= std::byte{1};
  const Status wrong = message::decode_receipt(bytes);
  ASSERT_THAT(wrong, fails_with(ErrorCode::invalid_value));
  EXPECT_EQ(wrong.error().reason, Reason::message_magic_wrong);
}

}  // namespace
}  // namespace tessera
