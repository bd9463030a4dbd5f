// The check must notice the error in a line without a mark.
#include "tessera/bytes.h"

namespace {

[[maybe_unused]] void use() {
#ifdef TESSERA_WRONG
  tessera::Bytes wrong = 4;
  tessera::Bytes marked = 4;  // no
#endif
}

}  // namespace
