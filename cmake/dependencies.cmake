# Every library comes from Debian; docs/decisions/dependencies.md says why each was chosen.
find_package(Threads REQUIRED)
find_package(Eigen3 REQUIRED NO_MODULE)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(hwy REQUIRED)
# Instruction sets the kernels are not compiled for, here and in the tests: SSSE3 and SSE4 without
# AVX2 (processors before 2014, which take the portable code), and scalable vectors (SVE, RVV), which
# cannot stand in the arrays of vectors of the kernels. Left: portable, AVX2, AVX-512, NEON.
# Instrumented by a sanitizer they are compiled without AVX-512 too: it takes minutes, and no machine runs all of them.
set(disabled HWY_SSSE3|HWY_SSE4|HWY_SVE|HWY_SVE2|HWY_SVE_256|HWY_SVE2_128|HWY_RVV)
if(ATTRACTOR_SANITIZE)
  string(APPEND disabled |HWY_AVX3|HWY_AVX3_DL)
endif()
target_compile_definitions(hwy::hwy INTERFACE "HWY_DISABLED_TARGETS=(${disabled})")
if(NOT ATTRACTOR_CORE_ONLY)
  find_package(tomlplusplus REQUIRED)
  find_package(HDF5 REQUIRED COMPONENTS C)
  find_package(ZLIB REQUIRED)
  find_path(UTF8PROC_INCLUDE utf8proc.h REQUIRED)
  find_library(UTF8PROC_LIBRARY utf8proc REQUIRED)
endif()
find_path(BOOST_INCLUDE boost/multiprecision/cpp_int.hpp REQUIRED)
find_path(RANDOM123_INCLUDE Random123/threefry.h REQUIRED)

# Fourier transforms (base/fft.hpp) and exact fractions (solve/exact/fraction.hpp): one library of two each.
if(ATTRACTOR_FFT STREQUAL "fftw")
  find_path(FFTW_INCLUDE fftw3.h REQUIRED)
  find_library(FFTW_LIBRARY fftw3 REQUIRED)
  set(fft_include ${FFTW_INCLUDE})
  set(fft_library ${FFTW_LIBRARY})
elseif(ATTRACTOR_FFT STREQUAL "kissfft")
  find_path(KISSFFT_INCLUDE kissfft/kissfft.hh REQUIRED)
  set(fft_include ${KISSFFT_INCLUDE})
  set(fft_library "")  # templates
else()
  message(FATAL_ERROR "ATTRACTOR_FFT = ${ATTRACTOR_FFT} is not allowed; allowed: fftw, kissfft")
endif()
if(ATTRACTOR_GMP)
  find_path(GMP_INCLUDE gmp.h REQUIRED)
  find_library(GMP_LIBRARY gmp REQUIRED)
  set(fraction_include ${GMP_INCLUDE})
  set(fraction_library ${GMP_LIBRARY})
endif()
