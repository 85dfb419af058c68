include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS attractor RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
list(TRANSFORM ATTRACTOR_PARTS PREPEND attractor_ OUTPUT_VARIABLE parts)
install(TARGETS ${parts} EXPORT attractor-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY attractor ${PROJECT_BINARY_DIR}/generated/attractor
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp"
        PATTERN "*-inl.hpp" EXCLUDE PATTERN "fraction.hpp" EXCLUDE)  # of the sources alone
install(EXPORT attractor-targets NAMESPACE attractor::
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/attractor)
configure_package_config_file(cmake/attractor-config.cmake.in
  ${PROJECT_BINARY_DIR}/attractor-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/attractor)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/attractor-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/attractor-config.cmake
              ${PROJECT_BINARY_DIR}/attractor-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/attractor)
