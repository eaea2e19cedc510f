# Builds guests of riverrun with CMake 3.20 or newer.
#
#   list(APPEND CMAKE_MODULE_PATH /path/to/riverrun/guest/cmake)
#   include(Riverrun)
#   riverrun_bindgen(api.json GUEST_C generated HOST_RUST generated)
#
# makes stubs and registrations when the description changes. `riverrun_api` is the target that has them made;
# the variable RIVERRUN names the command if it is not on the PATH.

# Where it is installed, the command is in the same prefix.
find_program(RIVERRUN riverrun HINTS "${CMAKE_CURRENT_LIST_DIR}/../../../../bin" REQUIRED)
set(RIVERRUN_GUEST_DIR "${CMAKE_CURRENT_LIST_DIR}/.." CACHE INTERNAL "")

# riverrun_bindgen(<API.json> [TARGET name] [GUEST_C dir] [GUEST_RUST dir] [HOST_RUST dir] [HOST_CPP dir])
function(riverrun_bindgen description)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "TARGET;GUEST_C;GUEST_RUST;HOST_RUST;HOST_CPP" "")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "riverrun_bindgen: what is ${arg_UNPARSED_ARGUMENTS}?")
    endif()
    get_filename_component(description "${description}" ABSOLUTE)
    get_filename_component(stem "${description}" NAME_WE)
    if(NOT arg_TARGET)
        set(arg_TARGET "riverrun_${stem}")
    endif()
    set(options)
    set(made)
    set(files_GUEST_C .h .S)
    set(files_GUEST_RUST _guest.rs)
    set(files_HOST_RUST _host.rs)
    set(files_HOST_CPP _host.hpp)
    foreach(side GUEST_C GUEST_RUST HOST_RUST HOST_CPP)
        if(arg_${side})
            get_filename_component(folder "${arg_${side}}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_BINARY_DIR}")
            string(TOLOWER "--${side}" option)
            string(REPLACE "_" "-" option "${option}")
            list(APPEND options "${option}" "${folder}")
            foreach(suffix ${files_${side}})
                list(APPEND made "${folder}/${stem}${suffix}")
            endforeach()
        endif()
    endforeach()
    if(NOT made)
        message(FATAL_ERROR "riverrun_bindgen: say what to make, such as GUEST_C generated")
    endif()
    # What does not change is not written again, so that a stamp says when it was looked at.
    set(stamp "${CMAKE_CURRENT_BINARY_DIR}/${arg_TARGET}.stamp")
    add_custom_command(
        OUTPUT "${stamp}"
        BYPRODUCTS ${made}
        COMMAND "${RIVERRUN}" bindgen ${options} "${description}"
        COMMAND "${CMAKE_COMMAND}" -E touch "${stamp}"
        DEPENDS "${description}" "${RIVERRUN}"
        COMMENT "riverrun bindgen ${stem}.json"
        VERBATIM)
    add_custom_target(${arg_TARGET} DEPENDS "${stamp}")
endfunction()

# riverrun_reactor(<guest>): a guest with a libc stays behind its main, to be called by its host.
function(riverrun_reactor guest)
    enable_language(C)
    target_sources(${guest} PRIVATE "${RIVERRUN_GUEST_DIR}/src/reactor.c")
    target_link_options(${guest} PRIVATE "LINKER:--wrap=main")
endfunction()
