# cmake -D COMPILER=... -D COMPILER_ID=... -D INCLUDE=... -D SOURCE=... -P nocompile.cmake
# checks one file as CMakeLists.txt says, and prints each line that is not as it is marked.

cmake_minimum_required(VERSION 3.25)

# Of the warnings only the one about ignored values counts: that a variable is unused says nothing.
set(command ${COMPILER} -std=c++20 -fsyntax-only -I ${INCLUDE} -Werror=unused-result)
if(COMPILER_ID MATCHES Clang)
  list(APPEND command -ferror-limit=0)
endif()

execute_process(
  COMMAND ${command} ${SOURCE}
  RESULT_VARIABLE failed
  OUTPUT_VARIABLE output
  ERROR_VARIABLE output)
# What a reader or a test looks for is printed by a plain message(): FATAL_ERROR breaks its text into
# lines where the length of the paths in it happens to ask for one.
cmake_path(GET SOURCE FILENAME name)
if(failed)
  message("${name} must compile without TESSERA_WRONG; the compiler said:\n${output}")
  message(FATAL_ERROR "The file is wrong in itself")
endif()

execute_process(
  COMMAND ${command} -DTESSERA_WRONG ${SOURCE}
  OUTPUT_VARIABLE output
  ERROR_VARIABLE output)

# Lists split at semicolons, and brackets join what lies between them.
string(REGEX REPLACE "[][;]" " " output "${output}")
string(REPLACE "\n" ";" output "${output}")
set(refused)
foreach(line IN LISTS output)
  if(line MATCHES "${name}:([0-9]+):[0-9]+: error:")
    list(APPEND refused ${CMAKE_MATCH_1})
  endif()
endforeach()

file(READ ${SOURCE} text)
string(REGEX REPLACE "[][;]" " " text "${text}")
string(REPLACE "\n" ";" text "${text}")
set(number 0)
set(marked 0)
set(faults 0)
foreach(line IN LISTS text)
  math(EXPR number "${number} + 1")
  if(line MATCHES "// no$")
    math(EXPR marked "${marked} + 1")
    if(NOT number IN_LIST refused)
      message("${name}:${number}: compiles, but must not: ${line}")
      math(EXPR faults "${faults} + 1")
    endif()
  elseif(number IN_LIST refused)
    message("${name}:${number}: is refused, but not marked: ${line}")
    math(EXPR faults "${faults} + 1")
  endif()
endforeach()

if(marked EQUAL 0)
  message("${name} has no line that ends in // no")
  message(FATAL_ERROR "Nothing is marked")
endif()
if(faults GREATER 0)
  string(REPLACE ";" "\n" output "${output}")
  message("the compiler said:\n${output}")
  message(FATAL_ERROR "${faults} lines are not as they are marked")
endif()
message("${marked} lines are refused")
