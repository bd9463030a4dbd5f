# Dependencies, looked for once at the top: imported targets are visible only from the folder that
# finds them downwards. Only the parts that are built look for theirs; core has none.
#
# An installed package is used when there is one; otherwise the pinned release is fetched.

include(FetchContent)

# tessera_dependency(PACKAGE TARGET REPOSITORY TAG)
# is a macro because what find_package() sets must reach the caller.
macro(tessera_dependency package target repository tag)
  FetchContent_Declare(
    ${package}
    GIT_REPOSITORY ${repository}
    GIT_TAG ${tag}
    SYSTEM
    FIND_PACKAGE_ARGS)
  FetchContent_MakeAvailable(${package})
  if(NOT TARGET ${target})
    message(FATAL_ERROR "Tessera: found ${package}, but it has no target ${target}")
  endif()
endmacro()

# The command's library also serves tests and fuzz targets, which read recordings with it.
if(TESSERA_BUILD_TOOLS OR TESSERA_BUILD_TESTS OR TESSERA_BUILD_BENCH OR TESSERA_BUILD_FUZZERS)
  set(TESSERA_NEED_TOOLS_LIBRARY ON)
else()
  set(TESSERA_NEED_TOOLS_LIBRARY OFF)
endif()

# The simulator reads its profiles from JSON.
tessera_dependency(nlohmann_json nlohmann_json::nlohmann_json https://github.com/nlohmann/json.git
                   v3.11.3)

if(TESSERA_NEED_TOOLS_LIBRARY)
  tessera_dependency(fmt fmt::fmt-header-only https://github.com/fmtlib/fmt.git 10.2.1)

  set(ZLIB_BUILD_EXAMPLES OFF)
  FetchContent_Declare(
    ZLIB
    GIT_REPOSITORY https://github.com/madler/zlib.git
    GIT_TAG v1.3.1
    SYSTEM
    FIND_PACKAGE_ARGS)
  FetchContent_MakeAvailable(ZLIB)
  if(NOT TARGET ZLIB::ZLIB)
    # zlib's own build names its target differently and keeps half of its headers in the build folder.
    target_include_directories(zlibstatic INTERFACE ${zlib_SOURCE_DIR} ${zlib_BINARY_DIR})
    add_library(ZLIB::ZLIB ALIAS zlibstatic)
  endif()
endif()

if(TESSERA_BUILD_TOOLS)
  tessera_dependency(CLI11 CLI11::CLI11 https://github.com/CLIUtils/CLI11.git v2.4.1)
endif()

if(TESSERA_BUILD_TESTS)
  tessera_dependency(GTest GTest::gmock https://github.com/google/googletest.git v1.14.0)
  set(RC_ENABLE_GTEST ON)
  set(RC_ENABLE_GMOCK ON)
  # rapidcheck makes no releases.
  tessera_dependency(rapidcheck rapidcheck_gtest https://github.com/emil-e/rapidcheck.git
                     ff6af6fc683159deb51c543b065eba14dfcf329b)
endif()

if(TESSERA_BUILD_BENCH)
  set(BENCHMARK_ENABLE_TESTING OFF)
  tessera_dependency(benchmark benchmark::benchmark https://github.com/google/benchmark.git v1.8.3)
endif()

# The CUDA backend needs one header and no library: the driver is opened at run time.
set(TESSERA_HAVE_CUDA OFF)
if(TESSERA_BUILD_CUDA)
  find_path(
    TESSERA_CUDA_INCLUDE_DIR cuda.h
    HINTS ENV CUDA_PATH ENV CUDA_HOME
    PATHS /usr/local/cuda
    PATH_SUFFIXES include
    DOC "Folder of the CUDA Toolkit's cuda.h")
  if(TESSERA_CUDA_INCLUDE_DIR)
    set(TESSERA_HAVE_CUDA ON)
    message(STATUS "Tessera: CUDA backend with ${TESSERA_CUDA_INCLUDE_DIR}/cuda.h")
  elseif(TESSERA_BUILD_CUDA STREQUAL "AUTO")
    message(STATUS "Tessera: no cuda.h found; left out: tessera::cuda, tests/gpu,"
                   " --backend cuda (install the CUDA Toolkit or set TESSERA_CUDA_INCLUDE_DIR)")
  else()
    message(FATAL_ERROR "TESSERA_BUILD_CUDA is ${TESSERA_BUILD_CUDA}, but no cuda.h was found."
                        " Install the CUDA Toolkit, or set TESSERA_CUDA_INCLUDE_DIR.")
  endif()
endif()
