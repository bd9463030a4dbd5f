// ProgramGenerator::Maker: makes one program at a time, operation by operation.
#pragma once

#include "tessera/testing/choices.h"
#include "tessera/testing/program_generator.h"
#include "testing/sketch.h"

namespace tessera::testing {

class ProgramGenerator::Maker {
 public:
  explicit Maker(const GeneratorOptions& options);

  void make(Choices choices, Program& program);
  // Records of `record_size` bytes, one an operation.
  void decode(std::span<const std::uint8_t> bytes, Program& program);
  static constexpr std::size_t record_size = 12;

 private:
  enum class Style : std::uint8_t { mostly_valid, one_rule_broken, any };

  void draw_weights();
  void add(Op op, bool is_likely = true);
  void add_drawn();
  [[nodiscard]] OpKind draw_kind();

  // An operation that should succeed; false where there is nothing that it could use
  // (valid_ops.cpp).
  bool draw_valid(OpKind kind, Op& op);
  bool draw_valid_memory(Op& op);
  bool draw_valid_mapping(Op& op);
  bool draw_valid_query(Op& op);
  bool draw_valid_data(Op& op);
  bool draw_valid_allocation(Op& op);
  bool draw_valid_order(Op& op);
  bool draw_valid_context(Op& op);
  bool draw_valid_multicast(Op& op);
  bool draw_result(Op& op);
  bool draw_slot(SlotKind kind, std::uint8_t& slot);
  bool draw_map(Op& op);
  bool draw_unmap(Op& op);
  bool draw_set_access(Op& op);
  bool draw_touched(Place& place, bool writes);
  bool draw_mapping(const Sketch::Mapping*& mapping);
  [[nodiscard]] std::int16_t draw_reservation_size();
  std::uint8_t draw_stream();

  // Any operands; one of them wrong (broken_ops.cpp).
  [[nodiscard]] Op draw_any(OpKind kind);
  void draw_any_fields(Op& op);
  void break_rule(Op& op);
  void break_place(Place& place);
  void break_size(Size& size);

  // Scenes that chance seldom finds (scenes.cpp).
  void play_scene();
  void fill_memory();
  void fill_addresses();
  void fill_page_tables();
  void fragment();
  void unmap_several();
  void grant_over_hole();
  void remap();
  void alias();
  void share();
  void fault();
  void unmap_under_work();
  void reach_peer();
  void multicast();
  void leave_reservation();
  void lose_rdma_mapping();
  void copy_by_cpu();
  void copy_shared();
  void end_contexts();
  void end_contexts_of_pool();
  void end_context_under_work();
  void order_streams();
  void leave_stream_behind();
  std::uint8_t reserve(std::int16_t granules);
  std::uint8_t create(std::int16_t granules, std::uint8_t types = 0, std::int8_t device = 0);
  void map(std::uint8_t reservation, int at, std::int16_t granules, std::uint8_t handle);
  void unmap(std::uint8_t reservation, int at, std::int16_t granules);
  void grant(std::uint8_t reservation, int at, std::int16_t granules, std::int8_t device = 0,
             std::uint8_t flags = 3);
  // One granule of memory, mapped and with access.
  std::uint8_t reserve_accessible();
  std::uint8_t create_stream();  // of either kind
  // Two granules, the first of memory on the host, the second of the device; each with access for
  // its own side only.
  std::uint8_t reserve_with_host_memory(bool may_write);
  void release(std::uint8_t handle);
  void touch(OpKind kind, std::uint8_t reservation, int at, std::uint8_t value);
  [[nodiscard]] std::uint8_t vacant(SlotKind kind) const;
  [[nodiscard]] std::int16_t rounded(int granules) const;

  GeneratorOptions options_;
  Choices choices_{0};
  Sketch sketch_;
  Program* program_ = nullptr;
  // How often each operation is drawn where nothing is left out, without the rare ones and with.
  std::array<std::uint8_t, op_kinds> common_weights_ = {};
  std::array<std::uint8_t, op_kinds> all_weights_ = {};
  std::array<std::uint16_t, op_kinds> weights_ = {};  // running sums, in this program
  Style style_ = Style::mostly_valid;
  std::size_t broken_at_ = 0;
};

}  // namespace tessera::testing
