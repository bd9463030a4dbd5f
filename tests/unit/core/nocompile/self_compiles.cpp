// The check must notice that the marked line compiles.
#include "tessera/bytes.h"

namespace {

[[maybe_unused]] void use() {
#ifdef TESSERA_WRONG
  tessera::Bytes wrong = 4;  // no
  tessera::Bytes right(4);   // no
#endif
}

}  // namespace
