# Test programs, benchmarks and fuzz targets. Each function does nothing while its SOURCES are
# empty, so that a folder can be laid out before its first file exists.

include(GoogleTest)

# tessera_add_test(NAME SOURCES ... LINKS ... [INCLUDES ...] [TIMEOUT seconds] [WHOLE])
# makes a GoogleTest program with main() from GMock. Its ctest label is the name of its folder, by
# which the presets choose (CMakePresets.json). Its tests are named FOLDER.Thing.DoesWhat, because
# ctest mixes up the labels of tests with one name, and gpu/ and conformance/ share theirs.
#
# Each case is one ctest entry, so that `./dev test --filter` can pick it. WHOLE makes the program
# a single entry: for suites of thousands of short cases, where starting a process a case would
# cost more than the cases.
function(tessera_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "WHOLE" "TIMEOUT" "SOURCES;LINKS;INCLUDES")
  if(NOT arg_SOURCES OR NOT TESSERA_BUILD_TESTS)
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME label)
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE tessera::test_support GTest::gmock_main ${arg_LINKS})
  target_include_directories(${name} PRIVATE ${arg_INCLUDES})
  tessera_configure_target(${name})
  if(TARGET tessera_test_precompiled)
    target_precompile_headers(${name} REUSE_FROM tessera_test_precompiled)
  endif()
  if(arg_WHOLE)
    add_test(NAME ${label}.${name} COMMAND ${name})
    set_tests_properties(${label}.${name} PROPERTIES LABELS ${label} TIMEOUT ${arg_TIMEOUT})
  else()
    # Listed when ctest starts rather than after linking: a program that fails to start is then a
    # failed test with its output, not a failed build.
    gtest_discover_tests(
      ${name}
      TEST_PREFIX ${label}.
      DISCOVERY_MODE PRE_TEST
      DISCOVERY_TIMEOUT 60
      PROPERTIES LABELS ${label} TIMEOUT ${arg_TIMEOUT})
  endif()
endfunction()

# tessera_add_fuzzer(NAME SOURCES ... LINKS ...)
# makes a fuzz target from a file with LLVMFuzzerTestOneInput. Its corpus is fuzz/corpus/NAME.
# With an engine it is a fuzzer, and its test is a short run with a fixed seed; without one it is
# a program that replays files, and its test replays the corpus, with any compiler.
function(tessera_add_fuzzer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINKS")
  if(NOT arg_SOURCES)
    return()
  endif()
  set(corpus ${PROJECT_SOURCE_DIR}/fuzz/corpus/${name})
  if(NOT IS_DIRECTORY ${corpus})
    message(FATAL_ERROR "fuzz target ${name} has no corpus: put at least one input in ${corpus}")
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINKS})
  tessera_configure_target(${name})
  if(TESSERA_FUZZ_ENGINE)
    target_link_options(${name} PRIVATE ${TESSERA_FUZZ_ENGINE})
    # The first folder is where new inputs go: a test must not write into the sources.
    set(scratch ${CMAKE_CURRENT_BINARY_DIR}/${name}.new)
    file(MAKE_DIRECTORY ${scratch})
    add_test(NAME fuzz.${name} COMMAND ${name} -runs=2000 -seed=1 ${scratch} ${corpus})
  else()
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/fuzz/standalone_main.cpp)
    add_test(NAME fuzz.${name} COMMAND ${name} ${corpus})
  endif()
  set_tests_properties(fuzz.${name} PROPERTIES LABELS fuzz TIMEOUT 120)
endfunction()
