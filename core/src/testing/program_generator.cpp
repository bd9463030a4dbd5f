#include "tessera/testing/program_generator.h"

#include <algorithm>

#include "tessera/check.h"
#include "testing/maker.h"

namespace tessera::testing {
namespace {

// How often each operation is drawn, before swarm testing leaves some out.
constexpr std::uint8_t base_weight(OpKind kind) noexcept {
  switch (kind) {
    case OpKind::map:
      return 16;
    case OpKind::reserve:
    case OpKind::create:
    case OpKind::set_access:
    case OpKind::unmap:
      return 10;
    case OpKind::release:
    case OpKind::htod:
    case OpKind::expect:
      return 6;
    case OpKind::address_free:
    case OpKind::retain:
    case OpKind::get_access:
    case OpKind::attribute:
    case OpKind::memset:
    case OpKind::dtod:
    case OpKind::alloc:
    case OpKind::free:
    case OpKind::launch:
      return 3;
    case OpKind::ctx_reset:
    case OpKind::alloc_managed:
    case OpKind::host_alloc:
    case OpKind::mc_create:
      return 0;  // see rare_weight
    default:
      return 1;
  }
}

// Of 64 programs, in how many these are drawn at all: they are slow, or end much at once.
constexpr bool is_rare(OpKind kind) noexcept {
  switch (kind) {
    case OpKind::export_fd:
    case OpKind::import_fd:
    case OpKind::close_fd:
    case OpKind::alloc_managed:
    case OpKind::host_alloc:
    case OpKind::ctx_reset:
    case OpKind::ctx_none:
    case OpKind::ctx_create:
    case OpKind::ctx_destroy:
    case OpKind::ctx_release:
    case OpKind::limit_set:
    case OpKind::peer_enable:
    case OpKind::mc_create:
    case OpKind::mc_add:
    case OpKind::mc_bind:
    case OpKind::mc_unbind:
      return true;
    default:
      return false;
  }
}

}  // namespace

ProgramGenerator::Maker::Maker(const GeneratorOptions& options) : options_(options) {
  constexpr std::int32_t devices_max = 8;
  TESSERA_CHECK(options.devices >= 1 && options.devices <= devices_max);
  TESSERA_CHECK(options.reservation_granules >= 1);
  for (std::size_t i = 0; i < op_kinds; ++i) {
    const auto kind = static_cast<OpKind>(i);
    const bool is_left_out =
        (kind == OpKind::export_fd && !options_.descriptors) ||
        ((kind == OpKind::alloc_managed || kind == OpKind::host_alloc) && !options_.host_memory) ||
        (kind == OpKind::alloc_async && !options_.memory_pools) ||
        (kind >= OpKind::mc_create && !options_.multicast);
    if (!is_left_out) {
      common_weights_[i] = is_rare(kind) ? std::uint8_t{0} : base_weight(kind);
      all_weights_[i] = is_rare(kind) ? std::uint8_t{2} : base_weight(kind);
    }
  }
}

void ProgramGenerator::Maker::draw_weights() {
  // Half of the kinds, but always what all else needs.
  std::uint64_t kept =
      std::uint64_t{choices_.below(1U << 31U)} | std::uint64_t{choices_.below(1U << 31U)} << 31U;
  for (const OpKind kind : {OpKind::reserve, OpKind::create, OpKind::map}) {
    kept |= std::uint64_t{1} << static_cast<unsigned>(kind);
  }
  const bool has_rare = choices_.below(64) < 4;
  const auto& weights = has_rare ? all_weights_ : common_weights_;
  unsigned sum = 0;
  for (std::size_t i = 0; i < op_kinds; ++i) {
    sum += (kept >> i & 1U) != 0 ? weights[i] : 0U;
    weights_[i] = static_cast<std::uint16_t>(sum);
  }
}

OpKind ProgramGenerator::Maker::draw_kind() {
  const auto drawn = static_cast<std::uint16_t>(choices_.below(weights_.back()));
  // As std::upper_bound, whose branches nobody could foresee.
  std::uint16_t at_or_below = 0;
  for (const std::uint16_t weight : weights_) {
    at_or_below = static_cast<std::uint16_t>(at_or_below + (weight <= drawn ? 1U : 0U));
  }
  return static_cast<OpKind>(at_or_below);
}

void ProgramGenerator::Maker::add(Op op, bool is_likely) {
  if (style_ == Style::one_rule_broken && program_->ops.size() == broken_at_) {
    break_rule(op);
    is_likely = false;
  }
  normalize(op);
  sketch_.apply(op, is_likely);
  program_->ops.push_back(op);
}

void ProgramGenerator::Maker::add_drawn() {
  OpKind kind = draw_kind();
  if (style_ == Style::any) {
    // A kernel that touches anything ends the process for CUDA, and the program's use with it.
    kind = kind == OpKind::launch && !choices_.chance(20) ? OpKind::set_access : kind;
    add(draw_any(kind), false);
    return;
  }
  Op op;
  constexpr int attempts = 4;
  for (int i = 0; i < attempts; ++i) {
    op = Op{.kind = kind};
    if (draw_valid(kind, op)) {
      const bool is_wrong = style_ == Style::mostly_valid && choices_.below(16) == 0;
      if (is_wrong) {
        break_rule(op);
      }
      add(op, !is_wrong);
      return;
    }
    kind = draw_kind();
  }
  op = Op{.kind = choices_.chance(50) ? OpKind::reserve : OpKind::create};
  add(draw_valid(op.kind, op) ? op : Op{.kind = OpKind::mem_info});
}

void ProgramGenerator::Maker::make(Choices choices, Program& program) {
  choices_ = choices;
  program_ = &program;
  program.ops.clear();
  sketch_.clear();
  draw_weights();
  const std::uint32_t style = choices_.below(10);
  style_ = style < 5 ? Style::mostly_valid : style < 8 ? Style::one_rule_broken : Style::any;
  broken_at_ = choices_.below(static_cast<std::uint32_t>(options_.length));
  if (style_ != Style::any && choices_.chance(30)) {
    play_scene();
  }
  while (program.ops.size() < options_.length && !choices_.is_exhausted()) {
    add_drawn();
  }
  program.drain = program.ops.size();
  sketch_.drain(program.ops);
}

void ProgramGenerator::Maker::decode(std::span<const std::uint8_t> bytes, Program& program) {
  program_ = &program;
  program.ops.clear();
  sketch_.clear();
  style_ = Style::any;
  while (bytes.size() >= record_size && program.ops.size() < options_.length) {
    Op op = {.kind = static_cast<OpKind>(bytes[0] % op_kinds),
             .result = bytes[1],
             .object = bytes[2],
             .other = bytes[3],
             .place = {.base = static_cast<SlotKind>(bytes[4] & 1U),
                       .slot = static_cast<std::uint8_t>(bytes[4] >> 1U & 7U),
                       .granules = static_cast<std::int8_t>(bytes[5] % 20 - 2),
                       .bytes = static_cast<std::int8_t>(bytes[4] >> 4U)},
             .source = {.base = SlotKind::reservation,
                        .slot = static_cast<std::uint8_t>(bytes[6] & 7U),
                        .granules = static_cast<std::int8_t>(bytes[6] >> 3U & 7U)},
             .size = {.unit = static_cast<SizeUnit>(2U + (bytes[7] == 0xffU ? 1U : 0U)),
                      .bytes = static_cast<std::int8_t>((bytes[7] & 0xc0U) == 0x40U ? 1 : 0),
                      .count = static_cast<std::int16_t>(bytes[7] & 31U)},
             .extra = {.unit = SizeUnit::granules,
                       .bytes = 0,
                       .count = static_cast<std::int16_t>(bytes[8] & 3U)},
             .device = static_cast<std::int8_t>(static_cast<int>(bytes[9] % 4) - 1),
             .choice = static_cast<std::uint8_t>(bytes[9] >> 2U & 31U),
             .value = bytes[10],
             .flags = static_cast<std::uint8_t>(bytes[11] == 0xffU ? 1 : 0)};
    if (!options_.memory_pools && op.kind == OpKind::alloc_async) {
      op.kind = OpKind::alloc;
    }
    add(op, true);
    bytes = bytes.subspan(record_size);
  }
  program.drain = program.ops.size();
  sketch_.drain(program.ops);
}

ProgramGenerator::ProgramGenerator(const GeneratorOptions& options)
    : options_(options), maker_(std::make_unique<Maker>(options)) {}
ProgramGenerator::~ProgramGenerator() = default;

void ProgramGenerator::generate(std::uint64_t seed, Program& program) {
  maker_->make(Choices(seed), program);
}

void ProgramGenerator::generate(std::span<const std::uint8_t> bytes, Program& program) {
  // The first byte says which.
  if (bytes.empty() || (bytes[0] & 1U) == 0) {
    maker_->decode(bytes.empty() ? bytes : bytes.subspan(1), program);
  } else {
    maker_->make(Choices(bytes.subspan(1)), program);
  }
}

Program generate_program(const GeneratorOptions& options, std::uint64_t seed) {
  Program program;
  ProgramGenerator(options).generate(seed, program);
  return program;
}

void append_drain(Program& program) {
  Sketch sketch;
  sketch.clear();
  for (const Op& op : program.ops) {
    sketch.apply(op, false);
  }
  program.drain = program.ops.size();
  sketch.drain(program.ops);
}

}  // namespace tessera::testing
