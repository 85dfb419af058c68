# Most of the time of a build goes into parsing the same headers: several files are compiled as one.
# Names in anonymous namespaces must then differ within a target; the dev preset shows that each file also stands alone.
function(compile_together target files)  # so many at a time
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${ATTRACTOR_UNITY} UNITY_BUILD_BATCH_SIZE ${files})
endfunction()
