#include "support/mock_driver.h"

#include <utility>

namespace tessera::test {
namespace {

template <class Answer, class... Arguments>
auto forward_to(Driver& target, Answer (Driver::*method)(Arguments...)) {
  return [&target, method](Arguments... arguments) -> Answer {
    return (target.*method)(std::forward<Arguments>(arguments)...);
  };
}

}  // namespace

MockDriver::MockDriver() {
#define TESSERA_CALL(method, cuda_name) \
  ON_CALL(*this, method)                \
      .WillByDefault(                   \
          testing::Return(Error{.code = ErrorCode::not_supported, .call = Call::method}));
#include "tessera/calls.def"
#undef TESSERA_CALL
}

MockDriver::~MockDriver() = default;

void MockDriver::delegate_to(Driver& target) {
#define TESSERA_CALL(method, cuda_name) \
  ON_CALL(*this, method).WillByDefault(forward_to(target, &Driver::method));
#include "tessera/calls.def"
#undef TESSERA_CALL
}

}  // namespace tessera::test
