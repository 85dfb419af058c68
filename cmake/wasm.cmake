# Toolchain of the preset wasm: Debian's emscripten, one thread, exceptions, 128-bit vectors.
find_program(EMCC emcc REQUIRED)
find_path(EMSCRIPTEN_PLATFORM Emscripten.cmake PATHS /usr/share/emscripten/cmake/Modules/Platform REQUIRED NO_DEFAULT_PATH)
include(${EMSCRIPTEN_PLATFORM}/Emscripten.cmake)

# Headers of libraries that are headers alone lie beside those of the host's C library, which must not be found: a folder of links.
set(WASM_HEADERS ${CMAKE_BINARY_DIR}/headers)
foreach(name boost fmt hwy kissfft nlohmann Random123)
  if(NOT EXISTS ${WASM_HEADERS}/${name} AND EXISTS /usr/include/${name})
    file(MAKE_DIRECTORY ${WASM_HEADERS})
    file(CREATE_LINK /usr/include/${name} ${WASM_HEADERS}/${name} SYMBOLIC)
  endif()
endforeach()
foreach(name BOOST RANDOM123 KISSFFT)
  set(${name}_INCLUDE ${WASM_HEADERS} CACHE PATH "Headers of ${name}")
endforeach()

# The folder wasm/ stands before all others: what Highway and Random123 lack here.
# Numbers of parameters have 64 bits, sizes here 32: what is counted is kept below by its range and by the memory that is asked for first.
set(flags "-fwasm-exceptions -msimd128 -Wno-c++11-narrowing -Wno-shorten-64-to-32 -isystem ${CMAKE_CURRENT_LIST_DIR}/wasm -isystem ${WASM_HEADERS}")
set(CMAKE_CXX_FLAGS_INIT "${flags} -DFMT_HEADER_ONLY -DATTRACTOR_WASM=1")
set(CMAKE_C_FLAGS_INIT "${flags}")
# Emscripten looks for acorn, with which it shortens its script, where npm installs; Debian's lies elsewhere.
set_property(GLOBAL PROPERTY RULE_LAUNCH_LINK "${CMAKE_COMMAND} -E env NODE_PATH=/usr/share/nodejs:/usr/lib/nodejs")
