# Install rules and the package that find_package(tessera) reads.
#
# Each library is a component of its own (core, sim, cuda), so that a package built without the
# CUDA Toolkit is complete but for one component.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(TESSERA_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)

# tessera_install_library(NAME): called by tessera_add_library.
function(tessera_install_library name)
  if(NOT TESSERA_INSTALL)
    return()
  endif()
  install(
    TARGETS tessera_${name}
    EXPORT tessera-${name}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    FILE_SET HEADERS
    FILE_SET tables)
  install(
    EXPORT tessera-${name}
    NAMESPACE tessera::
    DESTINATION ${TESSERA_PACKAGE_DIR})
  set_property(GLOBAL APPEND PROPERTY TESSERA_COMPONENTS ${name})
endfunction()

# tessera_install_package(): called once, after all libraries.
function(tessera_install_package)
  if(NOT TESSERA_INSTALL)
    return()
  endif()
  get_property(components GLOBAL PROPERTY TESSERA_COMPONENTS)
  string(REPLACE ";" " " TESSERA_COMPONENTS "${components}")
  configure_package_config_file(
    ${PROJECT_SOURCE_DIR}/cmake/tesseraConfig.cmake.in
    ${PROJECT_BINARY_DIR}/package/tesseraConfig.cmake
    INSTALL_DESTINATION ${TESSERA_PACKAGE_DIR}
    NO_SET_AND_CHECK_MACRO)
  # Before 1.0 a minor version may break its users.
  write_basic_package_version_file(
    ${PROJECT_BINARY_DIR}/package/tesseraConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/package/tesseraConfig.cmake
                ${PROJECT_BINARY_DIR}/package/tesseraConfigVersion.cmake
          DESTINATION ${TESSERA_PACKAGE_DIR})
endfunction()
