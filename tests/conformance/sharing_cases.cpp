// Export and import, here within one process. Where a handle type is not supported, its refusal.
#include <fcntl.h>
#include <unistd.h>

#include "conformance/suite.h"

namespace tessera::conformance {
namespace {

class Sharing : public Conformance {
 protected:
  // What this machine exports; most have one type.
  [[nodiscard]] HandleTypes type() const {
    return exports(HandleTypes::posix_file_descriptor) ? HandleTypes::posix_file_descriptor
                                                       : HandleTypes::win32;
  }
  [[nodiscard]] bool exports(HandleTypes wanted) const {
    return has_all(features().export_types, wanted);
  }
  [[nodiscard]] bool has_descriptors() const { return exports(HandleTypes::posix_file_descriptor); }
  [[nodiscard]] AllocationProperties exportable() const {
    return {.requested_handle_types = type()};
  }
  Result<ShareableHandle> export_one(AllocationHandle handle) {
    return driver().mem_export_to_shareable_handle({.handle = handle, .type = type()});
  }
  // A duplicate of the descriptor; where there are none, a second export.
  ShareableHandle again(const ShareableHandle& exported, AllocationHandle handle) {
    if (!has_descriptors()) {
      return must(export_one(handle));
    }
    ShareableHandle duplicate = exported;
    duplicate.file_descriptor = ::dup(exported.file_descriptor);
    return duplicate;
  }
  void close(const ShareableHandle& handle) { machine().close(handle); }
};

TEST_P(Sharing, AnImportIsTheSameMemory) {
  Reservation range(driver(), unit() * 2);
  const Memory memory(driver(), unit(), exportable());
  const Bytes before = free_memory();
  const auto exported = export_one(memory.handle());
  ASSERT_THAT(exported, is_ok());
  EXPECT_EQ(exported->type, type());
  const auto imported = driver().mem_import_from_shareable_handle(*exported);
  close(*exported);
  ASSERT_THAT(imported, is_ok());
  const Memory twin(driver(), *imported, unit());
  EXPECT_NE(twin.handle(), memory.handle());
  EXPECT_EQ(free_memory(), before);
  range.map(range.begin(), unit(), memory.handle());
  range.map(range.begin() + unit(), unit(), twin.handle());
  ASSERT_THAT(set_access(range.begin(), unit() * 2), is_ok());
  EXPECT_THAT(put(range.begin() + 9_B, 42), is_ok());
  EXPECT_THAT(put(range.begin() + unit() * 2 - 1_B, 43), is_ok());
  if (features().bytes) {
    expect_byte(range.begin() + unit() + 9_B, 42);
    expect_byte(range.begin() + unit() - 1_B, 43);
  }
  EXPECT_THAT(driver().mem_retain_allocation_handle(range.begin() + unit()),
              is_ok_and_holds(twin.handle()));
  EXPECT_THAT(driver().mem_release(twin.handle()), is_ok());
}

TEST_P(Sharing, AnImportKeepsTheMemory) {
  const Bytes before = free_memory();
  {
    Reservation range(driver(), unit());
    Memory memory(driver(), unit(), exportable());
    range.map(range.begin(), unit(), memory.handle());
    ASSERT_THAT(set_access(range.begin(), unit()), is_ok());
    ASSERT_THAT(put(range.begin(), 11), is_ok());
    const ShareableHandle exported = must(export_one(memory.handle()));
    EXPECT_THAT(range.unmap(range.begin(), unit()), is_ok());
    EXPECT_THAT(memory.release(), is_ok());
    // An open handle of the export alone keeps it.
    EXPECT_EQ(free_memory(), before - unit());
    const auto imported = driver().mem_import_from_shareable_handle(exported);
    close(exported);
    ASSERT_THAT(imported, is_ok());
    const Memory twin(driver(), *imported, unit());
    EXPECT_EQ(free_memory(), before - unit());
    range.map(range.begin(), unit(), twin.handle());
    EXPECT_THAT(access(range.begin()), is_ok_and_holds(AccessFlags::none));
    ASSERT_THAT(set_access(range.begin(), unit()), is_ok());
    expect_byte(range.begin(), 11);
  }
  EXPECT_EQ(free_memory(), before);
}

TEST_P(Sharing, TheLastOpenHandleFreesTheMemory) {
  const Bytes before = free_memory();
  Memory memory(driver(), unit(), exportable());
  const ShareableHandle exported = must(export_one(memory.handle()));
  const ShareableHandle duplicate = again(exported, memory.handle());
  EXPECT_THAT(memory.release(), is_ok());
  close(exported);
  EXPECT_EQ(free_memory(), before - unit()) << "another is still open";
  close(duplicate);
  EXPECT_EQ(free_memory(), before);
}

TEST_P(Sharing, AHandleImportsManyTimes) {
  const Memory memory(driver(), unit(), exportable());
  const ShareableHandle exported = must(export_one(memory.handle()));
  const ShareableHandle duplicate = again(exported, memory.handle());
  const auto first = driver().mem_import_from_shareable_handle(exported);
  const auto second = driver().mem_import_from_shareable_handle(duplicate);
  close(exported);
  close(duplicate);
  ASSERT_THAT(first, is_ok());
  ASSERT_THAT(second, is_ok());
  EXPECT_NE(*first, *second);
  EXPECT_THAT(driver().mem_release(*first), is_ok());
  EXPECT_THAT(driver().mem_release(*second), is_ok());
}

TEST_P(Sharing, AnImportIsExportedOnlyWhereThatIsKnown) {
  const Memory memory(driver(), unit(), exportable());
  const ShareableHandle exported = must(export_one(memory.handle()));
  const auto imported = driver().mem_import_from_shareable_handle(exported);
  close(exported);
  ASSERT_THAT(imported, is_ok());
  const Memory twin(driver(), *imported, unit());
  const auto types = driver().mem_get_allocation_properties_from_handle({.handle = twin.handle()});
  ASSERT_THAT(types, is_ok());
  const auto again = export_one(twin.handle());
  if (features().reexports_imported) {
    EXPECT_EQ(types->requested_handle_types, type());
    ASSERT_THAT(again, is_ok());
    close(*again);
  } else {
    EXPECT_EQ(types->requested_handle_types, HandleTypes::none);
    EXPECT_THAT(again, fails_with(ErrorCode::invalid_value));
  }
}

TEST_P(Sharing, DescriptorsAreKnownOrRefused) {
  const AllocationProperties properties = {.requested_handle_types =
                                               HandleTypes::posix_file_descriptor};
  const auto created = driver().mem_create({.size = unit(), .properties = properties});
  if (!has_descriptors()) {
    EXPECT_THAT(created, fails_with(ErrorCode::invalid_value));
    return;
  }
  ASSERT_THAT(created, is_ok());
  const Memory memory(driver(), *created, unit());
  const ShareableHandle exported = must(export_one(memory.handle()));
  EXPECT_GE(exported.file_descriptor, 0);
  close(exported);
}

TEST_P(Sharing, WindowsHandlesAreKnownOrRefused) {
  const AllocationProperties properties = {.requested_handle_types = HandleTypes::win32};
  const auto created = driver().mem_create({.size = unit(), .properties = properties});
  ShareableHandle made_up = {.type = HandleTypes::win32};
  made_up.win32 = 0x1234'5678;
  if (!exports(HandleTypes::win32)) {
    EXPECT_THAT(created, fails_with(ErrorCode::invalid_value));
    EXPECT_THAT(driver().mem_import_from_shareable_handle(made_up),
                fails_with(ErrorCode::not_supported));
    return;
  }
  ASSERT_THAT(created, is_ok());
  const Memory memory(driver(), *created, unit());
  EXPECT_THAT(driver().mem_import_from_shareable_handle(made_up),
              fails_with(ErrorCode::invalid_value));
}

TEST_P(Sharing, ExportsOnlyWhatWasAskedFor) {
  const Memory plain(driver(), unit());
  EXPECT_THAT(export_one(plain.handle()), fails_with(ErrorCode::invalid_value));
  const Memory memory(driver(), unit(), exportable());
  const auto is_refused = fails_with(ErrorCode::invalid_value);
  const auto export_as = [&](ExportRequest request) {
    request.handle = memory.handle();
    return driver().mem_export_to_shareable_handle(request);
  };
  EXPECT_THAT(export_as({.handle = {}, .type = HandleTypes::none}), is_refused);
  EXPECT_THAT(export_as({.handle = {}, .type = HandleTypes::fabric}), is_refused);
  EXPECT_THAT(export_as({.handle = {}, .type = type(), .flags = 1}), is_refused);
  EXPECT_THAT(export_as({.handle = {}, .type = type(), .null_pointers = NullPointers::output}),
              is_refused);
}

TEST_P(Sharing, TellsTheTypesAskedFor) {
  const Memory memory(driver(), unit(), exportable());
  EXPECT_THAT(driver().mem_get_allocation_properties_from_handle({.handle = memory.handle()}),
              is_ok_and_holds(exportable()));
}

TEST_P(Sharing, RefusesForeignDescriptors) {
  const ErrorCode refusal = has_descriptors() ? ErrorCode::unknown : ErrorCode::not_supported;
  const auto import_descriptor = [this](int descriptor) {
    return driver().mem_import_from_shareable_handle({.file_descriptor = descriptor});
  };
  const int device_file = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ASSERT_GE(device_file, 0);
  EXPECT_THAT(import_descriptor(device_file), fails_with(refusal));
  EXPECT_EQ(::close(device_file), 0);
  EXPECT_THAT(import_descriptor(device_file), fails_with(refusal));
  EXPECT_THAT(import_descriptor(-1), fails_with(refusal));
  EXPECT_THAT(driver().mem_import_from_shareable_handle({.type = HandleTypes::none}),
              fails_with(ErrorCode::invalid_value));
}

INSTANTIATE_TEST_SUITE_P(All, Sharing, testing::ValuesIn(backends_of_books()), name_of);

}  // namespace
}  // namespace tessera::conformance
