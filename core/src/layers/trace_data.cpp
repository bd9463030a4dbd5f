#include <algorithm>
#include <bit>

#include "layers/trace_recorder.h"
#include "scenario/perform.h"

namespace tessera {

using scenario::alignment_of;
using scenario::Answer;
using scenario::answer_of;
using scenario::Symbol;
using scenario::SymbolKind;

namespace {

// An operation writes or reads one value over and over: other data takes several, up to so many.
constexpr std::size_t runs_max = 16;
// What `kwrite` writes.
constexpr std::uint8_t kernel_byte = 7;

struct Run {
  std::size_t begin;
  std::size_t size;
  std::uint8_t value;
};

// The bytes as runs of equal ones; nothing when there are too many.
std::optional<std::vector<Run>> runs_of(std::span<const std::byte> bytes) {
  std::vector<Run> runs;
  std::size_t begin = 0;
  while (begin < bytes.size()) {
    if (runs.size() == runs_max) {
      return std::nullopt;
    }
    const auto end = std::find_if(bytes.begin() + static_cast<std::ptrdiff_t>(begin), bytes.end(),
                                  [&](std::byte byte) { return byte != bytes[begin]; });
    const auto size = static_cast<std::size_t>(end - bytes.begin()) - begin;
    runs.push_back(
        {.begin = begin, .size = size, .value = std::to_integer<std::uint8_t>(bytes[begin])});
    begin += size;
  }
  return runs;
}

// The address of a part; ranges that wrap are refused by drivers, and written as they came.
DeviceAddress part_of(DeviceAddress address, std::size_t offset) {
  return checked_add(address, Bytes(offset)).value_or(address);
}

}  // namespace

void TraceRecorder::record(Tag<Call::mem_alloc>, const Bytes& size,
                           const Result<DeviceAddress>& result) {
  const Symbol symbol = names_.next(SymbolKind::pointer);
  Answer answer = answer_of(result);
  if (result) {
    answer.add("aligned", alignment_of(result->value(), scenario::shown_alignment_max));
    names_.name_range(*result, size, symbol);
  }
  add(scenario::Alloc{.result = symbol, .size = scenario::Operand(size)}, std::move(answer));
}

void TraceRecorder::record(Tag<Call::mem_alloc_managed>, const AllocManagedRequest& request,
                           const Result<DeviceAddress>& result) {
  written_by_others();
  if (request.flags != ManagedFlags::attach_global) {
    comment(Call::mem_alloc_managed, describe(request), result ? nullptr : &result.error());
    return;
  }
  const Symbol symbol = names_.next(SymbolKind::pointer);
  if (result) {
    names_.name_range(*result, request.size, symbol);
  }
  add(scenario::Managed{.result = symbol, .size = scenario::Operand(request.size)},
      answer_of(result));
}

void TraceRecorder::record(Tag<Call::mem_host_alloc>, const HostAllocRequest& request,
                           const Result<std::byte*>& result) {
  written_by_others();
  if (request.flags != 0) {
    comment(Call::mem_host_alloc, describe(request), result ? nullptr : &result.error());
    return;
  }
  const Symbol symbol = names_.next(SymbolKind::pointer);
  if (result) {
    names_.name_range(DeviceAddress(std::bit_cast<std::uintptr_t>(*result)), request.size, symbol,
                      true);
  }
  add(scenario::HostAlloc{.result = symbol, .size = scenario::Operand(request.size)},
      answer_of(result));
}

// `free` is mem_free_host for what `hostalloc` gave, and mem_free for all else.
void TraceRecorder::record(Tag<Call::mem_free>, const DeviceAddress& address,
                           const Status& status) {
  if (names_.is_live_host(address)) {
    comment(Call::mem_free, describe(address), status ? nullptr : &status.error());
    return;
  }
  add(scenario::Free{.address = names_.address(address)}, answer_of(status));
}

void TraceRecorder::record(Tag<Call::mem_free_host>, std::byte* const& memory,
                           const Status& status) {
  const DeviceAddress address(std::bit_cast<std::uintptr_t>(memory));
  if (!names_.is_live_host(address)) {
    comment(Call::mem_free_host, describe(memory), status ? nullptr : &status.error());
    return;
  }
  add(scenario::Free{.address = names_.address(address)}, answer_of(status));
  if (status) {
    names_.retire_range(address);
  }
}

void TraceRecorder::record(Tag<Call::mem_get_info>, const NoRequest& /*request*/,
                           const Result<MemoryInfo>& result) {
  // What is used is not said: the replay counts it from where its case begins.
  add(scenario::MemInfo{.total = 1},
      result ? Answer().add("total", result->total.value()).add("free", result->free.value())
             : Answer(result.error()));
}

void TraceRecorder::record(Tag<Call::mem_get_address_range>, const DeviceAddress& address,
                           const Result<AddressRange>& result) {
  Answer answer;
  if (result) {
    const std::uint64_t distance = result->begin().value() - address.value();
    answer.add_signed("rel", static_cast<std::int64_t>(distance))
        .add("size", result->size().value());
  } else {
    answer = Answer(result.error());
  }
  add(scenario::AddressRangeOf{.address = names_.address(address)}, std::move(answer));
}

void TraceRecorder::record(Tag<Call::pointer_get_attribute>, const PointerAttributeRequest& request,
                           const Result<std::uint64_t>& result) {
  add(scenario::Attribute{.address = names_.address(request.address), .which = request.attribute},
      result ? scenario::show_attribute(request.attribute, *result, request.address.value())
             : Answer(result.error()));
}

void TraceRecorder::record(Tag<Call::mem_get_handle_for_address_range>,
                           const RangeHandleRequest& request, const Result<int>& result) {
  if (request.handle_type != 1 || request.flags != 0) {
    comment(Call::mem_get_handle_for_address_range, describe(request),
            result ? nullptr : &result.error());
    return;
  }
  add(scenario::DmaBuf{.address = names_.address(request.address),
                       .size = names_.size(request.size)},
      answer_of(result));
}

void TraceRecorder::record(Tag<Call::memcpy_htod>, const MemcpyHtodRequest& request,
                           const Status& status) {
  const auto runs = status ? runs_of(request.source) : std::nullopt;
  if (runs && !runs->empty()) {
    for (const Run& run : *runs) {
      add(scenario::Htod{.address = names_.address(part_of(request.destination, run.begin)),
                         .size = scenario::Operand(Bytes(run.size)),
                         .value = run.value},
          Answer());
    }
    return;
  }
  if (status && !runs) {
    note("the data was not all one byte; what memory holds is not compared from here on");
    written_by_others();
  }
  const bool has_value = !request.source.empty();
  add(scenario::Htod{.address = names_.address(request.destination),
                     .size = scenario::Operand(Bytes(request.source.size())),
                     .value = has_value ? std::to_integer<std::uint8_t>(request.source.front())
                                        : std::uint8_t{0}},
      answer_of(status));
}

void TraceRecorder::record(Tag<Call::memcpy_dtoh>, const MemcpyDtohRequest& request,
                           const Status& status) {
  const auto runs = status && contents_known_ ? runs_of(request.destination) : std::nullopt;
  if (runs && !runs->empty()) {
    for (const Run& run : *runs) {
      add(scenario::Expect{.address = names_.address(part_of(request.source, run.begin)),
                           .size = scenario::Operand(Bytes(run.size)),
                           .value = run.value},
          Answer().add("match", std::uint64_t{1}));
    }
    return;
  }
  add(scenario::Expect{.address = names_.address(request.source),
                       .size = scenario::Operand(Bytes(request.destination.size()))},
      answer_of(status));
}

void TraceRecorder::record(Tag<Call::memcpy_dtod>, const MemcpyDtodRequest& request,
                           const Status& status) {
  add(scenario::Dtod{.destination = names_.address(request.destination),
                     .source = names_.address(request.source),
                     .size = names_.size(request.size)},
      answer_of(status));
  last_ = status ? Last::synchronizing : Last::other;
}

void TraceRecorder::record(Tag<Call::memset_d8>, const MemsetD8Request& request,
                           const Status& status) {
  add(scenario::Memset{.address = names_.address(request.destination),
                       .size = names_.size(request.size),
                       .value = request.value},
      answer_of(status));
  last_ = status ? Last::synchronizing : Last::other;
}

void TraceRecorder::record(Tag<Call::launch_touch>, const LaunchTouchRequest& request,
                           const Status& status) {
  const bool is_in_stream = !request.stream.is_null();
  if (is_in_stream) {
    written_by_others();
    if (!request.result.is_null()) {
      comment(Call::launch_touch, describe(request), status ? nullptr : &status.error());
      return;
    }
  }
  if (is_in_stream || (request.duration_ns != 0 && request.result.is_null())) {
    // What the program does meanwhile matters.
    add(scenario::Launch{.address = names_.address(request.address),
                         .touch = request.touch,
                         .value = request.value,
                         .duration_ns = request.duration_ns == 0
                                            ? std::nullopt
                                            : std::optional(request.duration_ns),
                         .stream = unless_default(request.stream)},
        answer_of(status));
    return;
  }
  const bool writes = request.touch == Touch::write;
  if (!request.result.is_null() || (writes && request.value != kernel_byte)) {
    written_by_others();
  }
  if (request.duration_ns != 0) {
    note("the kernel waited " + std::to_string(request.duration_ns) + " ns first");
  }
  const scenario::Operand address = names_.address(request.address);
  scenario::Operation operation = scenario::KernelRead{.address = address};
  if (writes) {
    operation = scenario::KernelWrite{.address = address};
  }
  // The operation waits for the kernel, so its answer is known when the program has waited, too.
  add(std::move(operation), status ? std::nullopt : std::optional(Answer(status.error())));
  last_ = status ? Last::synchronizing : Last::other;
}

}  // namespace tessera
