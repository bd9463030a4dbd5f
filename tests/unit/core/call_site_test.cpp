#include "tessera/call_site.h"

#include <string_view>

#include <gtest/gtest.h>

namespace tessera {
namespace {

CallSite made_at(CallSite site = CallSite::here()) { return site; }

TEST(CallSite, IsTheLineOfTheCallThatADefaultArgumentCompletes) {
  const CallSite here = made_at();
  EXPECT_EQ(here.line, __LINE__ - 1);
  EXPECT_NE(std::string_view(here.file).find("call_site_test.cpp"), std::string_view::npos);
}

TEST(CallSiteScope, AnnouncesTheOutermostSite) {
  EXPECT_FALSE(announced_call_site().is_known());
  {
    const CallSiteScope outer({.file = "outer", .line = 1});
    {
      const CallSiteScope inner({.file = "inner", .line = 2});
      EXPECT_EQ(announced_call_site(), (CallSite{.file = "outer", .line = 1}));
    }
    EXPECT_EQ(announced_call_site(), (CallSite{.file = "outer", .line = 1}));
  }
  EXPECT_FALSE(announced_call_site().is_known());
}

}  // namespace
}  // namespace tessera
