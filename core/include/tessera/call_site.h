// CallSite: where in a program something was made, for leak reports and messages. Functions that
// make things take one as their last argument, `CallSite site = CallSite::here()`, and announce it
// with a CallSiteScope; whoever keeps books (Ledger) asks for the innermost announced one.
#pragma once

namespace tessera {

struct CallSite {
  const char* file = nullptr;  // null: not known
  int line = 0;

  // The line that calls this, or, as a default argument, the line of the call it completes.
  [[nodiscard]] static constexpr CallSite here(const char* file = __builtin_FILE(),
                                               int line = __builtin_LINE()) noexcept {
    return {.file = file, .line = line};
  }
  [[nodiscard]] constexpr bool is_known() const noexcept { return file != nullptr; }

  friend constexpr bool operator==(const CallSite&, const CallSite&) = default;
};

namespace detail {
// The one announced on this thread. Constant from the start, and said to be so here: announcing it
// is a look and a store then, without a call.
extern constinit thread_local CallSite announced_site;
}  // namespace detail

// Announces a site on this thread for as long as it lives. A scope inside another one changes
// nothing: what a program asked for is of interest, not which part of the library did it.
class CallSiteScope {
 public:
  explicit CallSiteScope(CallSite site) noexcept : outermost_(!detail::announced_site.is_known()) {
    if (outermost_) {
      detail::announced_site = site;
    }
  }
  CallSiteScope(const CallSiteScope&) = delete;
  CallSiteScope& operator=(const CallSiteScope&) = delete;
  ~CallSiteScope() {
    if (outermost_) {
      detail::announced_site = {};
    }
  }

 private:
  bool outermost_;
};

// The site announced on this thread; unknown if there is none.
[[nodiscard]] inline CallSite announced_call_site() noexcept { return detail::announced_site; }

}  // namespace tessera
