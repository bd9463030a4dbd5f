#include "tessera/scenario/runner.h"

#include "scenario/perform.h"

namespace tessera::scenario {

CaseRunner::CaseRunner(World& world, Start start)
    : state_(std::make_unique<CaseState>(world, start)) {}

CaseRunner::~CaseRunner() { state_->close_descriptors(); }

Status CaseRunner::begin() {
  if (state_->start() == Start::nothing) {
    return {};
  }
  TESSERA_TRY(state_->driver().init(0));
  if (state_->start() == Start::context) {
    TESSERA_TRY(state_->retain_primary(0));
    state_->start_accounting();
  }
  return {};
}

Answer CaseRunner::run(const Operation& operation) {
  return std::visit([this](const auto& alternative) { return perform(*state_, alternative); },
                    operation);
}

std::uint64_t CaseRunner::value_of(Symbol symbol) const noexcept {
  return state_->symbols().value_of(symbol);
}

bool CaseRunner::undo() { return state_->undo(); }

Status run_case(World& world, const Case& scenario_case, const AnswerSink& sink) {
  CaseRunner runner(world, scenario_case.start);
  TESSERA_TRY(runner.begin());
  for (const Call& call : scenario_case.calls) {
    if (!sink(call, runner.run(call.operation)) || (call.expected && call.expected->is_end())) {
      break;
    }
  }
  return {};
}

}  // namespace tessera::scenario
