# Compares docs/reference/ptx-instructions.md with what penstock-emu prints.
execute_process(COMMAND ${TOOL} coverage --markdown OUTPUT_FILE ${OUT}
                RESULT_VARIABLE result)
if(result)
  message(FATAL_ERROR "penstock-emu coverage failed")
endif()
execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${OUT} ${PAGE}
                RESULT_VARIABLE differs)
if(differs)
  message(FATAL_ERROR "docs/reference/ptx-instructions.md is stale: write the output of "
                      "`penstock-emu coverage --markdown` to it")
endif()
