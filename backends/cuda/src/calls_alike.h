// Whether a function of ours can be called in the place of one that cuda.h declares: at compile
// time, for static_asserts.
#pragma once

#include <type_traits>

namespace tessera::cuda {

// For a structure of ours: the one of cuda.h that has its layout.
template <class Ours>
struct LaidOutLike {
  using Type = Ours;
};

// The same type, or numbers and enumerations of one size, or pointers to what is alike.
template <class Ours, class Theirs>
constexpr bool passes_alike() noexcept {
  if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
    using Our = std::remove_pointer_t<Ours>;
    using Their = std::remove_pointer_t<Theirs>;
    return std::is_const_v<Our> == std::is_const_v<Their> &&
           passes_alike<std::remove_const_t<Our>, std::remove_const_t<Their>>();
  } else if constexpr ((std::is_integral_v<Ours> || std::is_enum_v<Ours>)&&std::is_enum_v<Theirs>) {
    return sizeof(Ours) == sizeof(Theirs);
  } else {
    return std::is_same_v<typename LaidOutLike<Ours>::Type, Theirs>;
  }
}

template <class Ours, class Theirs>
struct CallsAlike : std::false_type {};

template <class OurResult, class... Ours, class TheirResult, class... Theirs>
struct CallsAlike<OurResult(Ours...), TheirResult(Theirs...)> {
  static constexpr bool value = [] {
    if constexpr (sizeof...(Ours) != sizeof...(Theirs)) {
      return false;
    } else {
      return passes_alike<OurResult, TheirResult>() && (passes_alike<Ours, Theirs>() && ...);
    }
  }();
};

}  // namespace tessera::cuda
