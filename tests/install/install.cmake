# Installs BUILD_DIR to PREFIX, which is emptied first: a file left from an earlier version must not
# hide that it is no longer installed.
file(REMOVE_RECURSE ${PREFIX})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${PREFIX}
                COMMAND_ERROR_IS_FATAL ANY)
