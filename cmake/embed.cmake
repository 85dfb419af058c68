# embed(TARGET FILE...): each file (style.css) as a header beside which it lives (style_css.hpp) with its
# text in `kStyleCss`, so that scripts and styles are edited as what they are.
function(embed target)
  foreach(file IN LISTS ARGN)
    file(READ ${CMAKE_CURRENT_SOURCE_DIR}/${file} text)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${file})
    string(REPLACE "." "_" stem ${file})
    get_filename_component(name ${stem} NAME)
    string(REPLACE "_" ";" parts ${name})
    set(symbol k)
    foreach(part IN LISTS parts)
      string(SUBSTRING ${part} 0 1 first)
      string(SUBSTRING ${part} 1 -1 rest)
      string(TOUPPER ${first} first)
      string(APPEND symbol ${first}${rest})
    endforeach()
    file(RELATIVE_PATH place ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${stem}.hpp)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/${place} @ONLY CONTENT
"#pragma once
#include <string_view>
namespace attractor {
inline constexpr std::string_view @symbol@ = R\"embedded(@text@)embedded\";
}
")
  endforeach()
endfunction()
