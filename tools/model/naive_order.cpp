// Virtual time, streams and events of the naive model. Work is a list; what is due runs in the
// order of its ends.
#include <algorithm>
#include <limits>

#include "model/naive_model.h"

namespace tessera::model {
namespace {

constexpr std::uint64_t last_time = std::numeric_limits<std::uint64_t>::max();

std::uint64_t later(std::uint64_t time, std::uint64_t by) noexcept {
  return by > last_time - time ? last_time : time + by;
}

constexpr std::uint64_t default_stream = 0;

}  // namespace

void NaiveModel::enter(Call call) {
  advance_to(later(state_.now, costs_[static_cast<std::size_t>(call)].base_ns));
}

void NaiveModel::spend(Call call, std::uint64_t further) {
  advance_to(later(state_.now, costs_[static_cast<std::size_t>(call)].per_unit_ns * further));
}

std::uint64_t NaiveModel::cost_of(Call call, std::uint64_t size) const {
  const sim::CallCost& cost = costs_[static_cast<std::size_t>(call)];
  return cost.base_ns + cost.per_unit_ns * (size >> 20U);
}

void NaiveModel::advance_to(std::uint64_t time) {
  while (!state_.work.empty()) {
    const auto next = std::min_element(
        state_.work.begin(), state_.work.end(), [](const ModelWork& left, const ModelWork& right) {
          return left.end != right.end ? left.end < right.end : left.order < right.order;
        });
    if (next->end > time) {
      break;
    }
    const ModelWork work = *next;
    state_.work.erase(next);
    state_.now = std::max(state_.now, work.end);
    run(work);
  }
  state_.now = std::max(state_.now, time);
}

// A fault: all contexts are lost for good, and what is queued is never done.
void NaiveModel::lose() {
  state_.is_lost = true;
  state_.work.clear();
}

void NaiveModel::run(const ModelWork& work) {
  if (work.kind == WorkKind::free) {
    if (legacy_of(work.legacy) != nullptr) {
      free_legacy(work.legacy);
    }
    return;
  }
  const ModelContext* context = context_of(work.context);
  if (context != nullptr && !state_.is_lost && !perform(*context, work)) {
    lose();
  }
}

ErrorCode NaiveModel::wait_until(std::uint64_t time) {
  advance_to(std::max(state_.now, time));
  trim_pools();
  return state_.is_lost ? ErrorCode::illegal_address : ok;
}

void NaiveModel::wait_for_device(std::int32_t device) {
  std::uint64_t end = 0;
  for (const ModelContext& context : state_.contexts) {
    if (context.is_alive && context.device == device) {
      end = std::max(end, context.all_end);
    }
  }
  advance_to(std::max(state_.now, end));
}

ModelStream* NaiveModel::stream_of(std::uint64_t handle) noexcept {
  for (ModelStream& stream : state_.streams) {
    if (stream.handle == handle) {
      return &stream;
    }
  }
  return nullptr;
}

ModelEvent* NaiveModel::event_of(std::uint64_t handle) noexcept {
  for (ModelEvent& event : state_.events) {
    if (event.handle == handle) {
      return &event;
    }
  }
  return nullptr;
}

ErrorCode NaiveModel::need_stream(std::uint64_t handle, ModelContext*& context) noexcept {
  if (handle == default_stream) {
    const ErrorCode code = need_context();
    context = context_of(current_context());
    return code;
  }
  const ModelStream* stream = stream_of(handle);
  if (stream == nullptr) {
    return ErrorCode::invalid_context;
  }
  context = context_of(stream->context);
  return state_.is_lost ? ErrorCode::illegal_address : ok;
}

ErrorCode NaiveModel::need_event(std::uint64_t handle) noexcept {
  if (handle == 0) {
    return ErrorCode::invalid_handle;
  }
  if (event_of(handle) == nullptr) {
    return ErrorCode::context_is_destroyed;
  }
  return state_.is_lost ? ErrorCode::illegal_address : ok;
}

// The default stream holds the work of the blocking ones too.
std::uint64_t NaiveModel::stream_end(const ModelContext& context, std::uint64_t stream) noexcept {
  return stream == default_stream ? std::max(context.default_end, context.blocking_end)
                                  : stream_of(stream)->end;
}

std::uint64_t NaiveModel::free_at(const ModelContext& context, std::uint64_t stream) noexcept {
  const std::uint64_t own = stream_end(context, stream);
  const bool waits = stream == default_stream || stream_of(stream)->is_blocking;
  return waits ? std::max(own, context.default_end) : own;
}

void NaiveModel::occupy(ModelContext& context, std::uint64_t stream, std::uint64_t end) noexcept {
  context.all_end = std::max(context.all_end, end);
  if (stream == default_stream) {
    context.default_end = end;
    return;
  }
  ModelStream& own = *stream_of(stream);
  own.end = end;
  if (own.is_blocking) {
    context.blocking_end = std::max(context.blocking_end, end);
  }
}

// Work that was checked; `need_stream` has passed.
ErrorCode NaiveModel::queue(ModelWork work, std::uint64_t stream, std::uint64_t duration) {
  ModelContext* context = nullptr;
  if (const ErrorCode code = need_stream(stream, context); code != ok) {
    return code;
  }
  work.end = later(std::max(state_.now, free_at(*context, stream)), duration);
  work.order = ++work_queued_;
  work.context = context->handle;
  occupy(*context, stream, work.end);
  state_.work.push_back(work);
  return ok;
}

ErrorCode NaiveModel::record(const Arguments& arguments) {
  ModelContext* context = nullptr;
  if (const ErrorCode code = need_stream(arguments.other, context); code != ok) {
    return code;
  }
  if (const ErrorCode code = need_event(arguments.object); code != ok) {
    return code;
  }
  ModelEvent& event = *event_of(arguments.object);
  if (event.context != context->handle) {
    return ErrorCode::invalid_handle;
  }
  event.is_recorded = true;
  event.end = std::max(state_.now, free_at(*context, arguments.other));
  occupy(*context, arguments.other, event.end);
  return ok;
}

ErrorCode NaiveModel::wait_for_event(const Op& op, const Arguments& arguments) {
  ModelContext* context = nullptr;
  if (const ErrorCode code = need_stream(arguments.object, context); code != ok) {
    return code;
  }
  if (const ErrorCode code = need_event(arguments.other); code != ok) {
    return code;
  }
  if (op.flags != 0) {
    return op.flags == 1 ? ErrorCode::illegal_state : ErrorCode::invalid_value;
  }
  const ModelEvent& event = *event_of(arguments.other);
  if (event.is_recorded) {
    occupy(*context, arguments.object, std::max(event.end, free_at(*context, arguments.object)));
  }
  return ok;
}

ErrorCode NaiveModel::launch(const Op& op, const Arguments& arguments) {
  if (op.choice > 1) {
    return ErrorCode::invalid_value;
  }
  if (const ErrorCode code = need_context(); code != ok) {
    return code;
  }
  ModelContext* context = nullptr;
  if (const ErrorCode code = need_stream(arguments.other, context); code != ok) {
    return code;
  }
  if (context->handle != current_context()) {
    return ErrorCode::invalid_handle;
  }
  return queue({.kind = op.choice == 0 ? WorkKind::touch_read : WorkKind::touch_write,
                .address = arguments.address,
                .size = 1,
                .value = op.value},
               arguments.other,
               later(testing::duration_of(arguments), cost_of(Call::launch_touch, 0)));
}

ErrorCode NaiveModel::judge_order(const Op& op, const Arguments& arguments,
                                  const Outcome& outcome) {
  ModelContext* context = nullptr;
  switch (op.kind) {
    case OpKind::stream_create:
    case OpKind::event_create: {
      const bool is_stream = op.kind == OpKind::stream_create;
      enter(is_stream ? Call::stream_create : Call::event_create);
      const bool is_known = is_stream ? op.choice <= 1 : op.choice <= 7 && (op.choice & 6U) != 4;
      if (is_stream && !is_known) {
        return ErrorCode::invalid_value;
      }
      if (const ErrorCode code = need_context(); code != ok) {
        return code;
      }
      if (!is_known) {
        return ErrorCode::invalid_value;
      }
      if (outcome.value <= 2 || stream_of(outcome.value) != nullptr ||
          event_of(outcome.value) != nullptr) {
        complain("the handle is another's");
      }
      if (is_stream) {
        state_.streams.push_back(
            {.handle = outcome.value, .context = current_context(), .is_blocking = op.choice == 0});
      } else {
        state_.events.push_back({.handle = outcome.value, .context = current_context()});
      }
      return ok;
    }
    case OpKind::stream_destroy: {
      enter(Call::stream_destroy);
      if (arguments.object == default_stream) {
        return ErrorCode::invalid_handle;
      }
      const ErrorCode code = need_stream(arguments.object, context);
      if (code == ok) {
        std::erase_if(state_.streams,
                      [&](const ModelStream& of) { return of.handle == arguments.object; });
      }
      return code;
    }
    case OpKind::stream_sync: {
      enter(Call::stream_synchronize);
      const ErrorCode code = need_stream(arguments.object, context);
      return code != ok ? code : wait_until(stream_end(*context, arguments.object));
    }
    case OpKind::stream_wait:
      enter(Call::stream_wait_event);
      return wait_for_event(op, arguments);
    case OpKind::event_record:
      enter(Call::event_record);
      return record(arguments);
    case OpKind::event_query: {
      enter(Call::event_query);
      const ErrorCode code = need_event(arguments.object);
      if (code != ok) {
        return code;
      }
      return event_of(arguments.object)->end > state_.now ? ErrorCode::not_ready : ok;
    }
    case OpKind::event_sync: {
      enter(Call::event_synchronize);
      const ErrorCode code = need_event(arguments.object);
      return code != ok ? code : wait_until(event_of(arguments.object)->end);
    }
    case OpKind::event_destroy: {
      enter(Call::event_destroy);
      const ErrorCode code = need_event(arguments.object);
      if (code == ok) {
        std::erase_if(state_.events,
                      [&](const ModelEvent& of) { return of.handle == arguments.object; });
      }
      return code;
    }
    default:
      enter(Call::launch_touch);
      return launch(op, arguments);
  }
}

}  // namespace tessera::model
