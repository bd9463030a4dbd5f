# How targets of this project are made: warnings, sanitizers, language level.
# All settings are put on targets, never on the whole directory, so that a project that adds
# Tessera to its own build keeps its own flags.

# tessera_configure_target(TARGET): the settings that each library and program shares.
function(tessera_configure_target target)
  # CMake refuses a target without sources: one whose list is still empty gets an empty file.
  get_target_property(sources ${target} SOURCES)
  if(NOT sources MATCHES "[.]cpp")
    set(empty ${CMAKE_CURRENT_BINARY_DIR}/${target}_empty.cpp)
    file(CONFIGURE OUTPUT ${empty} CONTENT "// Nothing here yet.\n")
    target_sources(${target} PRIVATE ${empty})
  endif()
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(
    ${target}
    PROPERTIES CXX_EXTENSIONS OFF
               CXX_VISIBILITY_PRESET hidden
               VISIBILITY_INLINES_HIDDEN ON
               POSITION_INDEPENDENT_CODE ON)
  target_compile_options(
    ${target}
    PRIVATE -Wall
            -Wextra
            -Wpedantic
            -Wconversion
            -Wsign-conversion
            -Wshadow
            -Wnon-virtual-dtor
            -Woverloaded-virtual
            -Wold-style-cast
            -Wcast-align
            -Wundef
            -Wformat=2
            $<$<CXX_COMPILER_ID:Clang,AppleClang>:-Wthread-safety>
            # GCC 12 warns of "literal" + std::string() when it optimises (GCC bug 105651).
            $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
            $<$<BOOL:${TESSERA_WERROR}>:-Werror>)
  # Bounds checks of the standard library: free where the build is not optimised anyway.
  target_compile_definitions(${target} PRIVATE $<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS>)

  if(TESSERA_SANITIZE)
    # -O1 after the -O0 of Debug: sanitized code without any optimisation is too slow to be run often.
    target_compile_options(
      ${target} PRIVATE -fsanitize=${TESSERA_SANITIZE} -fno-sanitize-recover=all
                        -fno-omit-frame-pointer -O1)
    target_link_options(${target} PRIVATE -fsanitize=${TESSERA_SANITIZE})
  endif()
  if(TESSERA_SANITIZE MATCHES "fuzzer")
    # A fuzzer is worth what it runs in a second: more optimisation, and no coverage of what only
    # makes and judges inputs.
    target_compile_options(
      ${target} PRIVATE -O2 -fsanitize-coverage-ignorelist=${PROJECT_SOURCE_DIR}/fuzz/not_covered.txt)
  endif()
  if(TESSERA_COVERAGE)
    target_compile_options(${target} PRIVATE -fprofile-instr-generate -fcoverage-mapping)
    target_link_options(${target} PRIVATE -fprofile-instr-generate)
  endif()
endfunction()

# tessera_add_library(NAME
#   HEADERS include/...    public headers, listed by hand
#   TABLES include/...     public files that are included but don't compile alone (*.def)
#   SOURCES src/...
#   PUBLIC targets PRIVATE targets)
# makes tessera_NAME, with the alias tessera::NAME, and its install rules.
function(tessera_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "HEADERS;TABLES;SOURCES;PUBLIC;PRIVATE")
  set(target tessera_${name})
  add_library(${target} STATIC ${arg_SOURCES})
  add_library(tessera::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_sources(
    ${target}
    PUBLIC FILE_SET HEADERS BASE_DIRS include FILES ${arg_HEADERS}
    PUBLIC FILE_SET tables TYPE HEADERS BASE_DIRS include FILES ${arg_TABLES})
  set_target_properties(${target} PROPERTIES INTERFACE_HEADER_SETS_TO_VERIFY HEADERS)
  # Private headers are included by their path below src/.
  target_include_directories(${target} PRIVATE src)
  target_link_libraries(${target} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
  tessera_configure_target(${target})
  tessera_install_library(${name})
endfunction()
