// NaiveModel: what a driver must answer, worked out in the plainest way: lists, searched from end
// to end, and counts that are counted anew. It shares no code with the simulator; of a profile it
// reads the figures and quirks. Written from driver.h's comments and docs/fidelity.md.
//
// It watches a driver: each step takes an operation, its operands and the driver's answer, says
// whether that answer was right, and then is in the state that follows. Where a driver is free
// (addresses, values of handles) it takes what was given and checks what must hold of it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tessera/sim/sim_driver.h"
#include "tessera/testing/program_runner.h"

namespace tessera::model {

using testing::Arguments;
using testing::Op;
using testing::OpKind;
using testing::Outcome;

inline constexpr std::size_t devices_max = 8;

// What was written where, latest last; what was never written reads as zero.
class Contents {
 public:
  void write(std::uint64_t begin, std::uint64_t size, std::uint8_t value) {
    writes_.push_back({begin, size, value});
  }
  [[nodiscard]] std::uint8_t at(std::uint64_t offset) const noexcept;
  [[nodiscard]] bool is_written() const noexcept { return !writes_.empty(); }

 private:
  struct Write {
    std::uint64_t begin;
    std::uint64_t size;
    std::uint8_t value;
  };
  std::vector<Write> writes_;
};

struct ModelMemory {
  bool is_alive = true;
  std::uint64_t size = 0;
  AllocationProperties properties;  // as reported
  bool hw_decompress = false;
  Contents contents = {};
};
struct ModelBinding {
  std::int32_t device;
  std::uint64_t offset;
  std::uint64_t size;
  std::size_t memory;
  std::uint64_t memory_offset;
};
struct ModelMulticast {
  std::uint32_t device_count = 0;
  std::uint64_t size = 0;
  std::vector<std::int32_t> devices = {};
  std::vector<ModelBinding> bindings = {};
};
struct ModelHandle {
  std::uint64_t value = 0;
  std::uint32_t references = 1;
  std::uint32_t mappings = 0;
  std::size_t object = 0;  // a memory, or a multicast object
  bool is_multicast = false;
  bool is_imported = false;
  bool is_tile_pool = false;
  // Of memory for GPU-direct RDMA: its first mapping, and the one that access was given to after
  // that went. 0: none.
  bool is_rdma = false;
  std::uint64_t first_mapping = 0;
  std::uint64_t stray_mapping = 0;

  [[nodiscard]] bool is_alive() const noexcept { return references != 0 || mappings != 0; }
};
struct ModelReservation {
  std::uint64_t begin;
  std::uint64_t size;
};
enum class BlockKind : std::uint8_t { mapping, legacy, driver };
// Something at an address. Of a mapping: what may be done, by device and by the host.
struct ModelBlock {
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
  BlockKind kind = BlockKind::mapping;
  std::size_t handle = 0;
  std::uint64_t offset = 0;
  std::array<AccessFlags, devices_max> access = {};
  AccessFlags host = AccessFlags::none;
  AccessFlags latest = AccessFlags::none;  // as the host's or device 0's access was last changed
  std::uint64_t legacy = 0;                // the id of a legacy allocation
  bool sync_memops = false;

  [[nodiscard]] std::uint64_t end() const noexcept { return begin + size; }
  [[nodiscard]] bool is_accessible() const noexcept;
};
enum class LegacyKind : std::uint8_t { device, managed, host, pool };
struct ModelLegacy {
  std::uint64_t id = 0;
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
  LegacyKind kind = LegacyKind::device;
  std::uint64_t context = 0;
  std::int32_t device = 0;
  bool is_being_freed = false;
  bool sync_memops = false;
  Contents contents = {};
};
// A block that parts are cut from: of a context, or (context 0) of a device's pool.
struct ModelHeapBlock {
  std::uint64_t begin;
  std::uint64_t size;
  std::uint64_t context;
  std::int32_t device;
};
struct ModelContext {
  std::uint64_t handle = 0;
  std::int32_t device = 0;
  bool is_primary = false;
  bool is_alive = true;
  std::array<std::uint64_t, 10> limits = {};  // by ContextLimit
  std::uint64_t memory = 0;                   // what it takes of its device's
  std::vector<std::uint64_t> peers = {};
  // When what was queued will have ended.
  std::uint64_t default_end = 0;
  std::uint64_t blocking_end = 0;
  std::uint64_t all_end = 0;
};
struct ModelStream {
  std::uint64_t handle;
  std::uint64_t context;
  bool is_blocking;
  std::uint64_t end = 0;
};
struct ModelEvent {
  std::uint64_t handle;
  std::uint64_t context;
  bool is_recorded = false;
  std::uint64_t end = 0;
};
enum class WorkKind : std::uint8_t {
  fill,
  write,
  write_staged,
  read,
  copy,
  touch_read,
  touch_write,
  free,
};
struct ModelWork {
  std::uint64_t end = 0;
  std::uint64_t order = 0;
  std::uint64_t context = 0;
  WorkKind kind = WorkKind::fill;
  std::uint64_t address = 0;
  std::uint64_t source = 0;
  std::uint64_t size = 0;
  std::uint8_t value = 0;
  std::uint64_t legacy = 0;
  std::vector<std::uint8_t> staged = {};
  bool is_written_by_cpu = false;  // of copies
  bool is_read_by_cpu = false;
};

// All that is alive, as plain lists. Deep states and comparisons read it.
struct ModelState {
  std::vector<ModelReservation> reservations;
  std::vector<ModelBlock> blocks;
  std::vector<ModelMemory> memories;
  std::vector<ModelMulticast> multicasts;
  std::vector<ModelHandle> handles;  // dead ones too
  std::vector<ModelLegacy> legacy;
  std::vector<ModelHeapBlock> heap_blocks;
  std::vector<ModelContext> contexts;  // dead ones too
  std::vector<std::uint64_t> context_stack;
  std::array<std::uint64_t, devices_max> primary_references = {};
  std::vector<ModelStream> streams;
  std::vector<ModelEvent> events;
  std::vector<ModelWork> work;
  struct Descriptor {
    std::uint64_t number;
    std::size_t memory;
  };
  std::vector<Descriptor> descriptors;  // open ones
  std::uint64_t now = 0;
  bool is_lost = false;
};

class NaiveModel {
 public:
  // The profile outlives the model; it is what the driver is to be like.
  NaiveModel(const sim::Profile& profile, std::int32_t devices);

  // Of a driver just started, with the primary context of device 0 retained and current.
  void begin(std::uint64_t primary_context);
  // The same for the next program on a driver on which all was undone. The driver still knows the
  // contexts that there were.
  void begin_again();
  // Judges an answer. False: it was wrong, and `mismatch` says how; the state is of no use then.
  [[nodiscard]] bool step(const Op& op, const Arguments& arguments, const Outcome& outcome);
  [[nodiscard]] const std::string& mismatch() const noexcept { return mismatch_; }
  // The code that the last operation had to give.
  [[nodiscard]] ErrorCode expected_code() const noexcept { return code_; }

  [[nodiscard]] const ModelState& state() const noexcept { return state_; }
  // What a new context's limits are, by ContextLimit.
  [[nodiscard]] std::array<std::uint64_t, 10> initial_limits() const;
  [[nodiscard]] const sim::Profile& profile() const noexcept { return profile_; }
  [[nodiscard]] std::int32_t devices() const noexcept { return devices_; }
  // What the books must say, counted anew where something changed; else `books`, which the count
  // before wrote, still say it.
  void count(sim::Books& books);

  // --- What can be asked of a driver at any time; for comparisons of all observable state ---
  [[nodiscard]] const ModelReservation* reservation_at(std::uint64_t address) const noexcept;
  [[nodiscard]] const ModelBlock* block_at(std::uint64_t address) const noexcept;
  [[nodiscard]] Outcome expected_access(std::uint64_t address, Location location) const;
  // Nothing to compare where `is_free`: the value is the driver's choice.
  [[nodiscard]] Outcome expected_attribute(std::uint64_t address, PointerAttribute attribute,
                                           bool& is_free) const;
  [[nodiscard]] bool is_host_mapping(const ModelBlock& block) const;
  [[nodiscard]] Outcome expected_range(std::uint64_t address) const;
  [[nodiscard]] Outcome expected_properties(std::uint64_t handle) const;
  [[nodiscard]] std::uint64_t free_memory(std::int32_t device) const noexcept;
  [[nodiscard]] std::uint64_t current_context() const noexcept;
  // Whether a copy from there would be refused, or fault, and what it would read.
  [[nodiscard]] bool can_read(std::uint64_t address) const;
  [[nodiscard]] std::uint8_t byte_at(std::uint64_t address) const;

 private:
  static constexpr ErrorCode ok = ErrorCode{0};
  enum class Toucher : std::uint8_t { device_copy, cpu_copy, fill, kernel };
  struct Segment {
    Contents* contents;
    std::uint64_t offset;
    std::uint64_t size;
    bool is_further_copy;  // of the segment before (multicast)
  };

  // One operation: the code that it must give. Effects of success are made in it.
  ErrorCode judge(const Op& op, const Arguments& arguments, const Outcome& outcome);
  ErrorCode judge_context(const Op& op, const Arguments& arguments, const Outcome& outcome);
  ErrorCode judge_memory(const Op& op, const Arguments& arguments, const Outcome& outcome);
  ErrorCode judge_mapping(const Op& op, const Arguments& arguments);
  ErrorCode judge_allocation(const Op& op, const Arguments& arguments, const Outcome& outcome);
  ErrorCode judge_query(const Op& op, const Arguments& arguments);
  ErrorCode judge_data(const Op& op, const Arguments& arguments);
  ErrorCode judge_order(const Op& op, const Arguments& arguments, const Outcome& outcome);
  ErrorCode judge_multicast(const Op& op, const Arguments& arguments, const Outcome& outcome);

  // What an answer must be, besides its code.
  void expect(std::uint64_t value) noexcept;
  void expect(std::uint64_t value, std::uint64_t second) noexcept;
  void complain(std::string what);

  // Contexts (naive_contexts.cpp)
  [[nodiscard]] ModelContext* context_of(std::uint64_t handle) noexcept;  // a live one
  [[nodiscard]] const ModelContext* context_of(std::uint64_t handle) const noexcept;
  [[nodiscard]] bool was_context(std::uint64_t handle) const noexcept;
  [[nodiscard]] ErrorCode need_context() const noexcept;
  [[nodiscard]] ErrorCode check_current() const noexcept;
  [[nodiscard]] std::int32_t current_device() const noexcept;
  [[nodiscard]] bool is_device(std::int64_t device) const noexcept;
  [[nodiscard]] bool can_reach(std::int32_t from, std::int32_t to) const noexcept;
  [[nodiscard]] std::uint64_t stack_share(std::uint64_t stack_size) const noexcept;
  [[nodiscard]] std::uint64_t attribute_of(std::int32_t number) const;
  [[nodiscard]] std::uint64_t l2_tenth() const;
  void set_sync_memops(std::uint64_t address);
  void forget_program();
  void add_context(std::uint64_t handle, std::int32_t device, bool is_primary);
  void end_context(ModelContext& context);
  ErrorCode retain_primary(const Op& op, const Outcome& outcome);
  ErrorCode create_context(const Op& op, const Outcome& outcome);
  ErrorCode destroy_context(std::uint64_t handle);
  ErrorCode set_current(std::uint64_t handle);
  ErrorCode enable_peer(const Op& op);
  ErrorCode set_limit(const Op& op, const Arguments& arguments, const Outcome& outcome);
  ErrorCode get_limit(const Op& op);

  // Memory and mappings (naive_memory.cpp, naive_mappings.cpp)
  [[nodiscard]] ModelHandle* handle_of(std::uint64_t value) noexcept;  // a live one
  [[nodiscard]] ErrorCode check_properties(const AllocationProperties& properties) const;
  ErrorCode reserve(const Op& op, const Arguments& arguments, const Outcome& outcome);
  ErrorCode free_addresses(const Arguments& arguments);
  ErrorCode create(const Op& op, const Arguments& arguments, const Outcome& outcome);
  ErrorCode release(const Arguments& arguments);
  ErrorCode retain(const Arguments& arguments);
  ErrorCode export_memory(const Op& op, const Arguments& arguments, const Outcome& outcome);
  ErrorCode import_memory(const Arguments& arguments, const Outcome& outcome);
  ErrorCode close_descriptor(const Arguments& arguments);
  void check_new_handle(std::uint64_t value);
  void let_memory_go();
  ErrorCode map(const Op& op, const Arguments& arguments);
  ErrorCode unmap(const Arguments& arguments);
  ErrorCode set_access(const Op& op, const Arguments& arguments);
  [[nodiscard]] bool has_block_in(std::uint64_t begin, std::uint64_t size) const noexcept;
  [[nodiscard]] bool cuts_block(std::uint64_t begin, std::uint64_t size) const noexcept;
  [[nodiscard]] bool is_covered(std::uint64_t begin, std::uint64_t size) const noexcept;
  std::size_t unmap_inside(std::uint64_t begin, std::uint64_t size);
  ErrorCode set_access(ModelBlock& mapping, const AccessDescriptor& descriptor);
  [[nodiscard]] ErrorCode mappings_to_set(const Arguments& arguments,
                                          std::vector<std::size_t>& run);
  [[nodiscard]] ErrorCode check_reach(const ModelBlock& mapping,
                                      const AccessDescriptor& descriptor) const;
  [[nodiscard]] bool has_room_for_addresses(std::uint64_t size, std::uint64_t alignment) const;
  void check_place(std::uint64_t begin, std::uint64_t size, std::uint64_t alignment);

  // Other allocation (naive_legacy.cpp)
  ErrorCode allocate(std::uint64_t size, LegacyKind kind, const ModelContext& context,
                     const Outcome& outcome);
  ErrorCode take_heap_block(std::uint64_t size, LegacyKind kind, const ModelContext& context,
                            const Outcome& outcome);
  ErrorCode allocate_host(std::uint64_t size, LegacyKind kind, const Outcome& outcome);
  [[nodiscard]] bool fits_in_heap(std::uint64_t rounded, std::uint64_t context,
                                  std::int32_t device) const;
  void check_part(std::uint64_t begin, std::uint64_t rounded, std::uint64_t context,
                  std::int32_t device, bool in_new_block);
  void add_legacy(std::uint64_t begin, std::uint64_t size, LegacyKind kind,
                  const ModelContext& context);
  ErrorCode free_allocation(const Arguments& arguments, bool is_host);
  ErrorCode free_in_order(const Arguments& arguments);
  void free_legacy(std::uint64_t id);
  void trim_pools();
  [[nodiscard]] ModelLegacy* legacy_at(std::uint64_t begin) noexcept;
  [[nodiscard]] const ModelLegacy* legacy_of(std::uint64_t id) const noexcept;
  [[nodiscard]] const ModelHeapBlock* heap_block_at(std::uint64_t address) const noexcept;
  [[nodiscard]] bool is_heap_block_empty(const ModelHeapBlock& block) const noexcept;

  // Time, streams, data (naive_order.cpp, naive_data.cpp)
  void enter(Call call);
  void spend(Call call, std::uint64_t further);
  void advance_to(std::uint64_t time);
  ErrorCode wait_until(std::uint64_t time);
  void wait_for_device(std::int32_t device);
  void lose();
  void run(const ModelWork& work);
  [[nodiscard]] std::uint64_t cost_of(Call call, std::uint64_t size) const;
  [[nodiscard]] ModelStream* stream_of(std::uint64_t handle) noexcept;
  [[nodiscard]] ModelEvent* event_of(std::uint64_t handle) noexcept;
  [[nodiscard]] ErrorCode need_stream(std::uint64_t handle, ModelContext*& context) noexcept;
  [[nodiscard]] ErrorCode need_event(std::uint64_t handle) noexcept;
  [[nodiscard]] std::uint64_t stream_end(const ModelContext& context,
                                         std::uint64_t stream) noexcept;
  [[nodiscard]] std::uint64_t free_at(const ModelContext& context, std::uint64_t stream) noexcept;
  void occupy(ModelContext& context, std::uint64_t stream, std::uint64_t end) noexcept;
  ErrorCode queue(ModelWork work, std::uint64_t stream, std::uint64_t duration);
  ErrorCode record(const Arguments& arguments);
  ErrorCode wait_for_event(const Op& op, const Arguments& arguments);
  ErrorCode launch(const Op& op, const Arguments& arguments);
  ErrorCode read_bytes(const Op& op, const Arguments& arguments);
  // Whether the CPU must copy what begins there, and whether it can copy some of the range.
  [[nodiscard]] bool must_be_copied_by_cpu(const ModelContext& context,
                                           std::uint64_t address) const noexcept;
  [[nodiscard]] bool is_within_cpu_reach(const ModelContext& context, std::uint64_t address,
                                         std::uint64_t size) noexcept;
  void choose_copiers(const ModelContext& context, std::uint64_t stream, ModelWork& work);
  [[nodiscard]] bool resolve_parts(const ModelContext& context, std::uint64_t address,
                                   std::uint64_t size, AccessFlags needed, Toucher toucher,
                                   std::vector<Segment>& segments);
  [[nodiscard]] bool resolve(const ModelContext& context, std::uint64_t address, std::uint64_t size,
                             AccessFlags needed, Toucher toucher, std::vector<Segment>& segments);
  [[nodiscard]] bool resolve_multicast(const ModelMulticast& multicast, std::uint64_t offset,
                                       std::uint64_t size, AccessFlags needed,
                                       std::vector<Segment>& segments);
  [[nodiscard]] bool can_do(const ModelContext& context, const ModelWork& work);
  bool perform(const ModelContext& context, const ModelWork& work);
  void read(const std::vector<Segment>& segments, std::vector<std::uint8_t>& bytes) const;

  const sim::Profile& profile_;
  std::int32_t devices_;
  std::array<sim::CallCost, call_count> costs_ = {};
  ModelState state_;
  std::uint64_t default_context_ = 0;  // what a new one takes from its device, with its stacks
  std::uint64_t work_queued_ = 0;
  std::uint64_t legacy_given_ = 0;
  // What the current operation must give; set by `expect`.
  bool has_value_ = false;
  bool has_second_ = false;
  std::uint64_t value_ = 0;
  std::uint64_t second_ = 0;
  std::string mismatch_;
  ErrorCode code_ = ok;
  bool has_changed_ = true;  // something that is counted, since it was
  mutable std::vector<Segment> segments_;
  std::vector<std::uint8_t> bytes_;
  std::vector<std::byte> read_;  // what the last read got
  std::vector<std::size_t> run_;
};

}  // namespace tessera::model
