# attractor_flags: warnings and sanitizers, linked privately by every target of ours.
add_library(attractor_flags INTERFACE)
target_compile_options(attractor_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor
  -Woverloaded-virtual -Wno-psabi
  -Wno-missing-field-initializers  # designated initialisers leave out what keeps its default
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>  # GCC 12 reports std::string concatenation (bug 105651)
  $<$<BOOL:${ATTRACTOR_WERROR}>:-Werror>
  # The order of floating-point operations is part of the result: same bytes on every run.
  -ffp-contract=off)
if(ATTRACTOR_SANITIZE)
  target_compile_options(attractor_flags INTERFACE -fsanitize=${ATTRACTOR_SANITIZE}
                         -fno-sanitize-recover=all -fno-omit-frame-pointer)
  foreach(kind address thread)  # names that GCC defines and clang does not
    string(TOUPPER ${kind} name)
    if(ATTRACTOR_SANITIZE MATCHES ${kind})
      target_compile_options(attractor_flags INTERFACE $<$<CXX_COMPILER_ID:Clang>:-D__SANITIZE_${name}__=1>)
    endif()
  endforeach()
  target_link_options(attractor_flags INTERFACE -fsanitize=${ATTRACTOR_SANITIZE})
endif()
