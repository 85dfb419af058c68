# Most of the time of a build goes into parsing the same headers: several files are compiled as one.
# Names in anonymous namespaces must then differ within a target; the dev preset shows that each file also stands alone.
function(compile_together target files)  # so many at a time
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${ATTRACTOR_UNITY} UNITY_BUILD_BATCH_SIZE ${files})
endfunction()

# Tests, a folder at a time: each has helpers of its own, and only those of a folder must differ in their names.
function(compile_folders_together target files)  # SOURCE...; at most so many at a time
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${ATTRACTOR_UNITY} UNITY_BUILD_MODE GROUP)
  foreach(source IN LISTS ARGN)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE path)
    string(REGEX REPLACE "^(attractor/)?([^/]+)/.*" "\\2" folder ${path})
    list(LENGTH of_${folder} before)
    math(EXPR batch "${before} / ${files}")
    list(APPEND of_${folder} ${source})
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}_${batch})
  endforeach()
endfunction()

# What is not hot, and tests: little optimised, and not at all under a sanitizer, which halves its compilation.
function(compile_briefly target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  if(ATTRACTOR_SANITIZE)
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()
