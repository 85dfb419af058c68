# `cpack --preset package` makes two Debian packages: attractor (the program) and libattractor-dev. Handed on, a binary with FFTW
# is under the GPL as a whole: packages are made with kissfft only (docs/decisions/dependencies.md).
set(debian ${PROJECT_BINARY_DIR}/debian)
if(NOT ATTRACTOR_FFT STREQUAL "kissfft" OR NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  file(WRITE ${debian}/refuse.cmake
       "message(FATAL_ERROR \"a binary with FFTW is under the GPL; packages are made by: cmake --preset package\")\n")
  set(CPACK_PROJECT_CONFIG_FILE ${debian}/refuse.cmake)
  include(CPack)
  return()
endif()

string(TIMESTAMP attractor_date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # or that of SOURCE_DATE_EPOCH
configure_file(cmake/debian/changelog.in ${debian}/changelog.Debian @ONLY)
execute_process(COMMAND gzip -9nkf ${debian}/changelog.Debian)
configure_file(CHANGELOG.md ${debian}/changelog COPYONLY)
execute_process(COMMAND gzip -9nkf ${debian}/changelog)
foreach(pair attractor:program libattractor-dev:development)
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 package)
  list(GET pair 1 component)
  install(FILES cmake/debian/copyright ${debian}/changelog.Debian.gz ${debian}/changelog.gz
          DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component})
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME attractor)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "laboratory for the dynamics of attention")
set(CPACK_PACKAGE_CONTACT "The Attractor authors <maintainers@attractor.example>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL program development)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME attractor)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "librsvg2-bin, fonts-dejavu-core, ffmpeg")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "ffmpeg, python3-h5py")
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
"Tokens passing through attention layers are particles on a sphere: they
gather in clusters that live for a very long time, and finally collapse to
one. Attention in training selects tokens by their margin. Attractor computes
both, with error bounds and certificates, says what depth, normalisation and
context length do to a model, and runs published results again.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libattractor-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "libeigen3-dev, libfmt-dev, libgmp-dev, libhdf5-dev, libhwy-dev, libtomlplusplus-dev, libutf8proc-dev, nlohmann-json3-dev, zlib1g-dev")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS attractor)
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
"Headers, static libraries and CMake files of Attractor: flows of tokens
through attention, training that selects tokens, exact reductions and limits,
with error bounds and certificates. Values in, values out.")
include(CPack)
