#include <algorithm>
#include <bit>
#include <vector>

#include "scenario/perform.h"
#include "scenario/repeated_byte.h"

namespace tessera::scenario {
namespace {

// What is read to be compared goes through so much memory of the host at a time.
constexpr std::uint64_t read_chunk_max = std::uint64_t{16} << 20U;

// Calls `copy(address, size)` for a range in chunks, until one fails; for an empty range once.
template <class Copy>
Status in_chunks(DeviceAddress address, Bytes size, std::uint64_t chunk_max, Copy&& copy) {
  std::uint64_t done = 0;
  do {
    const std::uint64_t chunk = std::min(size.value() - done, chunk_max);
    TESSERA_TRY(copy(DeviceAddress(address.value() + done), chunk));
    done += chunk;
  } while (done < size.value());
  return {};
}

Answer remember(CaseState& state, Symbol symbol, const Result<DeviceAddress>& memory) {
  state.symbols().set(symbol, memory ? memory->value() : 0);
  if (!memory) {
    return Answer(memory.error());
  }
  state.ledger().device_memory.push_back(*memory);
  return {};
}

// What kwrite writes.
constexpr std::uint8_t kernel_byte = 7;

}  // namespace

Answer perform(CaseState& state, const Memset& operation) {
  if (operation.stream.is_given()) {
    return answer_of(
        state.driver().memset_d8_async({.set = {.destination = state.address(operation.address),
                                                .value = operation.value.value_or(0),
                                                .size = state.bytes(operation.size)},
                                        .stream = StreamHandle(state.value(operation.stream))}));
  }
  const Status status = state.driver().memset_d8({.destination = state.address(operation.address),
                                                  .value = operation.value.value_or(0),
                                                  .size = state.bytes(operation.size)});
  return answer_of(status ? state.driver().ctx_synchronize() : status);
}

Answer perform(CaseState& state, const Htod& operation) {
  const Bytes size = state.bytes(operation.size);
  // In one call, as far as there is a source for that: a refused copy has written nothing.
  const RepeatedByte source(size, std::byte{operation.value.value_or(0)});
  return answer_of(in_chunks(state.address(operation.address), size, source.bytes().size(),
                             [&](DeviceAddress address, std::uint64_t chunk) {
                               return state.driver().memcpy_htod(
                                   {.destination = address, .source = source.bytes().first(chunk)});
                             }));
}

Answer perform(CaseState& state, const Expect& operation) {
  const Bytes size = state.bytes(operation.size);
  const std::byte wanted{operation.value.value_or(0)};
  std::vector<std::byte> read(std::min(size.value(), read_chunk_max), ~wanted);
  bool match = true;
  const Status status = in_chunks(
      state.address(operation.address), size, read_chunk_max,
      [&](DeviceAddress address, std::uint64_t chunk) -> Status {
        const std::span<std::byte> destination = std::span(read).first(chunk);
        TESSERA_TRY(state.driver().memcpy_dtoh({.destination = destination, .source = address}));
        match = match && std::all_of(destination.begin(), destination.end(),
                                     [&](std::byte byte) { return byte == wanted; });
        return {};
      });
  return status ? Answer().add("match", std::uint64_t{match}) : Answer(status.error());
}

Answer perform(CaseState& state, const Dtod& operation) {
  if (operation.stream.is_given()) {
    return answer_of(state.driver().memcpy_dtod_async(
        {.copy = {.destination = state.address(operation.destination),
                  .source = state.address(operation.source),
                  .size = state.bytes(operation.size)},
         .stream = StreamHandle(state.value(operation.stream))}));
  }
  const Status status =
      state.driver().memcpy_dtod({.destination = state.address(operation.destination),
                                  .source = state.address(operation.source),
                                  .size = state.bytes(operation.size)});
  return answer_of(status ? state.driver().ctx_synchronize() : status);
}

Answer perform(CaseState& state, const KernelRead& operation) {
  const auto result = state.driver().mem_alloc(Bytes(1));
  if (!result) {
    return Answer(result.error());
  }
  Status status = state.driver().launch_touch(
      {.address = state.address(operation.address), .touch = Touch::read, .result = *result});
  if (status) {
    status = state.driver().ctx_synchronize();
  }
  std::byte byte = {};
  if (status) {
    status = state.driver().memcpy_dtoh({.destination = std::span(&byte, 1), .source = *result});
  }
  // In a context that the kernel has lost this fails too, and the context's end frees the byte.
  static_cast<void>(state.driver().mem_free(*result));
  return status ? Answer().add("byte", std::to_integer<std::uint64_t>(byte))
                : Answer(status.error());
}

Answer perform(CaseState& state, const KernelWrite& operation) {
  const Status status = state.driver().launch_touch(
      {.address = state.address(operation.address), .touch = Touch::write, .value = kernel_byte});
  return answer_of(status ? state.driver().ctx_synchronize() : status);
}

Answer perform(CaseState& state, const HostRead& operation) {
  const auto byte = state.world().host_read(state.address(operation.address));
  return byte ? Answer().add("byte", std::to_integer<std::uint64_t>(*byte)) : Answer(byte.error());
}

Answer perform(CaseState& state, const HostWrite& operation) {
  return answer_of(
      state.world().host_write(state.address(operation.address), std::byte{kernel_byte}));
}

Answer perform(CaseState& state, const Alloc& operation) {
  Answer answer =
      remember(state, operation.result, state.driver().mem_alloc(state.bytes(operation.size)));
  if (answer.is_ok()) {
    answer.add("aligned",
               alignment_of(state.symbols().value_of(operation.result), shown_alignment_max));
  }
  return answer;
}

Answer perform(CaseState& state, const Free& operation) {
  const DeviceAddress address = state.address(operation.address);
  // Memory of the host has a free of its own; which it is, the case does not say.
  auto& host = state.ledger().host_memory;
  const auto found = std::find_if(host.begin(), host.end(), [&](std::byte* memory) {
    return std::bit_cast<std::uintptr_t>(memory) == address.value();
  });
  if (found != host.end()) {
    const Status status = state.driver().mem_free_host(*found);
    if (status) {
      host.erase(found);
    }
    return answer_of(status);
  }
  const Status status = state.driver().mem_free(address);
  if (status) {
    std::erase(state.ledger().device_memory, address);
  }
  return answer_of(status);
}

Answer perform(CaseState& state, const Managed& operation) {
  state.ledger().tainted = true;
  return remember(state, operation.result,
                  state.driver().mem_alloc_managed({.size = state.bytes(operation.size)}));
}

Answer perform(CaseState& state, const AllocAsync& operation) {
  return remember(
      state, operation.result,
      state.driver().mem_alloc_async({.size = state.bytes(operation.size),
                                      .stream = StreamHandle(state.value(operation.stream))}));
}

Answer perform(CaseState& state, const HostAlloc& operation) {
  const auto memory = state.driver().mem_host_alloc({.size = state.bytes(operation.size)});
  state.symbols().set(operation.result, memory ? std::bit_cast<std::uintptr_t>(*memory) : 0);
  if (!memory) {
    return Answer(memory.error());
  }
  state.ledger().host_memory.push_back(*memory);
  return {};
}

}  // namespace tessera::scenario
