#include "touch_kernel.h"

#include <array>
#include <utility>

#include "conversions.h"

namespace tessera::cuda {
namespace {

// PTX 6.0 for sm_50: every driver with virtual memory management reads it, for every GPU since
// Maxwell. The accesses are volatile, so that the compiler keeps a read whose value nobody wants,
// and in global space, so that no address falls into the windows of shared or local memory.
constexpr const char* touch_ptx = R"ptx(
.version 6.0
.target sm_50
.address_size 64
.visible .entry tessera_touch(
    .param .u64 address,      // the byte to touch
    .param .u64 result,       // where a byte read goes, unless null
    .param .u64 duration_ns,  // to wait before
    .param .u32 is_write,
    .param .u32 value)        // to write
{
  .reg .pred %p<3>;
  .reg .u16 %byte<3>;
  .reg .u32 %r<3>;
  .reg .u64 %d<7>;
  ld.param.u64 %d1, [address];
  ld.param.u64 %d2, [result];
  ld.param.u64 %d3, [duration_ns];
  ld.param.u32 %r1, [is_write];
  ld.param.u32 %r2, [value];
  setp.eq.u64 %p1, %d3, 0;
  @%p1 bra TOUCH;
  mov.u64 %d4, %globaltimer;
WAIT:
  mov.u64 %d5, %globaltimer;
  sub.u64 %d6, %d5, %d4;
  setp.lt.u64 %p1, %d6, %d3;
  @%p1 bra WAIT;
TOUCH:
  setp.ne.u32 %p2, %r1, 0;
  @%p2 bra WRITE;
  ld.volatile.global.u8 %byte1, [%d1];
  setp.eq.u64 %p1, %d2, 0;
  @%p1 bra DONE;
  st.volatile.global.u8 [%d2], %byte1;
  bra DONE;
WRITE:
  cvt.u16.u32 %byte2, %r2;
  st.volatile.global.u8 [%d1], %byte2;
DONE:
  ret;
}
)ptx";

}  // namespace

Status TouchKernel::launch(const LaunchTouchRequest& request) {
  // The kernel itself would take any number for a read.
  if (request.touch != Touch::read && request.touch != Touch::write) {
    return Error{.code = ErrorCode::invalid_value,
                 .call = Call::launch_touch,
                 .reason = Reason::unknown_flags,
                 .values = {static_cast<std::uint64_t>(request.touch), 1}};
  }
  TESSERA_TRY_ASSIGN(CUfunction function, function_for_current_context());
  std::uint64_t address = request.address.value();
  std::uint64_t result = request.result.value();
  std::uint64_t duration_ns = request.duration_ns;
  std::uint32_t is_write = request.touch == Touch::write ? 1 : 0;
  std::uint32_t value = request.value;
  std::array<void*, 5> parameters = {&address, &result, &duration_ns, &is_write, &value};
  return entries_.launch_kernel(function, 1, 1, 1, 1, 1, 1, 0, to_pointer<CUstream>(request.stream),
                                parameters.data(), nullptr);
}

void TouchKernel::forget_context(CUcontext context) {
  const std::lock_guard lock(mutex_);
  std::erase_if(loaded_, [context](const auto& item) { return item.second.context == context; });
}

void TouchKernel::forget_device(CUdevice device) {
  const std::lock_guard lock(mutex_);
  std::erase_if(loaded_, [device](const auto& item) { return item.second.device == device; });
}

Result<CUfunction> TouchKernel::function_for_current_context() {
  CUcontext context = nullptr;
  TESSERA_TRY(entries_.ctx_get_current.call_as(Call::launch_touch, &context));
  if (context == nullptr) {
    return Error{.code = ErrorCode::invalid_context, .call = Call::launch_touch};
  }
  TESSERA_TRY_ASSIGN(const std::uint64_t id, id_of(context));
  // Held while loading too: two threads of one context must not load it twice.
  const std::lock_guard lock(mutex_);
  auto found = loaded_.find(id);
  if (found == loaded_.end()) {
    TESSERA_TRY_ASSIGN(const Loaded loaded, load(context));
    found = loaded_.emplace(id, loaded).first;
  }
  return found->second.function;
}

Result<std::uint64_t> TouchKernel::id_of(CUcontext context) const {
  if (entries_.ctx_get_id.is_missing()) {
    return std::uint64_t{reinterpret_cast<std::uintptr_t>(context)};
  }
  unsigned long long id = 0;
  TESSERA_TRY(entries_.ctx_get_id.call_as(Call::launch_touch, context, &id));
  return std::uint64_t{id};
}

Result<TouchKernel::Loaded> TouchKernel::load(CUcontext context) const {
  Loaded loaded = {.function = nullptr, .context = context, .device = 0};
  TESSERA_TRY(entries_.ctx_get_device.call_as(Call::launch_touch, &loaded.device));
  CUmodule module = nullptr;
  TESSERA_TRY(entries_.module_load_data(&module, touch_ptx));
  TESSERA_TRY(entries_.module_get_function(&loaded.function, module, "tessera_touch"));
  return loaded;
}

}  // namespace tessera::cuda
