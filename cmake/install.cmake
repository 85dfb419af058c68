include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Components: `program` and `development`; cmake --install takes both.
install(TARGETS attractor RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)

# ---- What the program writes of itself: manual pages and completion, from its lists of options.
set(ATTRACTOR_ZSH_COMPLETIONS ${CMAKE_INSTALL_DATADIR}/zsh/site-functions CACHE STRING "Where zsh looks for completion")
if(NOT CMAKE_CROSSCOMPILING)
  set(written ${PROJECT_BINARY_DIR}/written)
  add_custom_command(
    OUTPUT ${written}/man/attractor.1.gz ${written}/attractor ${written}/_attractor ${written}/attractor.fish
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${written}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${written}
    COMMAND attractor manual --out ${written}/man
    COMMAND gzip -9n -r ${written}/man
    COMMAND attractor completion bash > ${written}/attractor
    COMMAND attractor completion zsh > ${written}/_attractor
    COMMAND attractor completion fish > ${written}/attractor.fish
    DEPENDS attractor
    COMMENT "Manual pages and completion" VERBATIM)
  add_custom_target(manual ALL DEPENDS ${written}/man/attractor.1.gz)
  # Optional: who builds the target `attractor` alone installs it without them.
  install(DIRECTORY ${written}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program OPTIONAL)
  install(FILES ${written}/attractor DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
          COMPONENT program OPTIONAL)
  install(FILES ${written}/_attractor DESTINATION ${ATTRACTOR_ZSH_COMPLETIONS} COMPONENT program OPTIONAL)
  install(FILES ${written}/attractor.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
          COMPONENT program OPTIONAL)
endif()
install(FILES README.md CITATION.cff DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT program)
install(DIRECTORY examples/data DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples COMPONENT program)

# ---- The library.
list(TRANSFORM ATTRACTOR_PARTS PREPEND attractor_ OUTPUT_VARIABLE parts)
install(TARGETS ${parts} EXPORT attractor-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(DIRECTORY attractor ${PROJECT_BINARY_DIR}/generated/attractor
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development FILES_MATCHING PATTERN "*.hpp"
        PATTERN "*-inl.hpp" EXCLUDE PATTERN "fraction.hpp" EXCLUDE)  # of the sources alone
install(EXPORT attractor-targets NAMESPACE attractor::
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/attractor COMPONENT development)
configure_package_config_file(cmake/attractor-config.cmake.in
  ${PROJECT_BINARY_DIR}/attractor-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/attractor)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/attractor-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/attractor-config.cmake
              ${PROJECT_BINARY_DIR}/attractor-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/attractor COMPONENT development)
