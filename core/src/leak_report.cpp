#include "tessera/leak_report.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "text.h"

namespace tessera {
namespace {

struct KindText {
  std::string_view noun;
  std::string_view held;
  std::string_view remedy;
};
// In the order of LeakKind.
constexpr std::array kind_texts = {
    KindText{"memory of handle", "create reference never released",
             "call mem_release once for each mem_create"},
    KindText{"memory of handle", "retain reference never released",
             "call mem_release once for each mem_retain_allocation_handle"},
    KindText{"memory of handle", "import reference never released",
             "call mem_release once for each mem_import_from_shareable_handle"},
    KindText{"mapping at", "never unmapped", "call mem_unmap for its range"},
    KindText{"binding to multicast object", "never unbound",
             "call multicast_unbind with its offset and size"},
    KindText{"descriptor", "exported and still open, which keeps its memory",
             "close it once it was sent or imported"},
    KindText{"reservation at", "addresses never freed",
             "call mem_address_free with its base and size"},
    KindText{"allocation at", "never freed", "free it with the call that goes with it"},
    KindText{"stream", "never destroyed", "call stream_destroy"},
    KindText{"event", "never destroyed", "call event_destroy"},
    KindText{"context", "never given back",
             "call device_primary_ctx_release, or ctx_destroy for a created one"},
};

class Collector {
 public:
  void add(LeakKind kind, std::uint64_t value, Bytes size, std::uint32_t count,
           const MadeBy& made) {
    if (count != 0) {
      report_.entries.push_back({kind, value, size, count, made});
    }
  }
  LeakReport sorted() {
    const auto order = [](const LeakEntry& entry) {
      return std::make_tuple(entry.kind, entry.made.call_number, entry.value);
    };
    std::sort(
        report_.entries.begin(), report_.entries.end(),
        [&](const LeakEntry& left, const LeakEntry& right) { return order(left) < order(right); });
    return std::move(report_);
  }

 private:
  LeakReport report_;
};

}  // namespace

std::string to_string(const MadeBy& made) {
  if (made.call_number == 0) {
    return "by a call that was not seen";
  }
  std::string text = "by call " + std::to_string(made.call_number) + " (";
  text += method_name(made.call);
  if (made.site.is_known()) {
    text += ", " + std::string(made.site.file) + ":" + std::to_string(made.site.line);
  }
  return text + ")";
}

std::string to_string(const LeakEntry& entry) {
  const KindText& kind = kind_texts.at(static_cast<std::size_t>(entry.kind));
  std::string text(kind.noun);
  text += " ";
  text += entry.kind == LeakKind::descriptor ? std::to_string(entry.value)
                                             : text::hexadecimal(entry.value);
  text += entry.size.is_zero() ? ": " : ", " + text::bytes(entry.size) + ": ";
  text += kind.held;
  text += entry.count > 1 ? " (" + std::to_string(entry.count) + " of them)" : "";
  text += "; made " + to_string(entry.made) + "; ";
  text += kind.remedy;
  return text;
}

std::string to_string(const LeakReport& report) {
  if (report.is_empty()) {
    return "nothing is left";
  }
  std::string text;
  for (const LeakEntry& entry : report.entries) {
    text += (text.empty() ? "" : "\n") + to_string(entry);
  }
  return text;
}

LeakReport leak_report_of(const LiveObjects& objects) {
  Collector found;
  for (const auto& [handle, entry] : objects.handles_) {
    const Bytes size = objects.memories_[entry.memory].size;
    found.add(LeakKind::create_reference, handle.value(), size, entry.created, entry.made);
    found.add(LeakKind::retain_reference, handle.value(), size, entry.retained, entry.retained_by);
    found.add(LeakKind::import_reference, handle.value(), size, entry.imported, entry.made);
    for (const LiveBinding& binding : objects.memories_[entry.memory].bound) {
      found.add(LeakKind::binding, handle.value(), binding.size, 1, binding.made);
    }
  }
  for (const auto& [begin, mapping] : objects.mappings_) {
    found.add(LeakKind::mapping, begin.value(), mapping.range.size(), 1, mapping.made);
  }
  for (const auto& [number, descriptor] : objects.descriptors_) {
    const bool is_open = identity_of(number) == descriptor.identity;
    found.add(LeakKind::descriptor, static_cast<std::uint64_t>(number), descriptor.size,
              is_open ? 1 : 0, descriptor.made);
  }
  for (const auto& [begin, reservation] : objects.reservations_) {
    found.add(LeakKind::reservation, begin.value(), reservation.range.size(), 1, reservation.made);
  }
  for (const auto& [context, entry] : objects.contexts_) {
    found.add(LeakKind::context, context.value(), Bytes(), entry.references, entry.made);
  }
  if (objects.are_contexts_lost_) {
    return found.sorted();
  }
  for (const auto& [begin, allocation] : objects.allocations_) {
    found.add(LeakKind::allocation, begin.value(), allocation.range.size(), 1, allocation.made);
  }
  for (const auto& [stream, entry] : objects.streams_) {
    found.add(LeakKind::stream, stream.value(), Bytes(), 1, entry.made);
  }
  for (const auto& [event, entry] : objects.events_) {
    found.add(LeakKind::event, event.value(), Bytes(), 1, entry.made);
  }
  return found.sorted();
}

}  // namespace tessera
