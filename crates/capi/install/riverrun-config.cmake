# find_package(riverrun): the targets riverrun::riverrun, the shared library, and riverrun::static. Guests are built with
# what is in riverrun_GUEST_DIR: include("${riverrun_GUEST_DIR}/cmake/Riverrun.cmake").

get_filename_component(_riverrun_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(riverrun_GUEST_DIR "${_riverrun_prefix}/share/riverrun/guest")
if(NOT TARGET riverrun::riverrun)
    add_library(riverrun::riverrun SHARED IMPORTED GLOBAL)
    set_target_properties(riverrun::riverrun PROPERTIES
        IMPORTED_LOCATION "${_riverrun_prefix}/lib/libriverrun.so.@VERSION@"
        IMPORTED_SONAME "libriverrun.so.@SOVERSION@"
        INTERFACE_INCLUDE_DIRECTORIES "${_riverrun_prefix}/include")
    add_library(riverrun::static STATIC IMPORTED GLOBAL)
    set_target_properties(riverrun::static PROPERTIES
        IMPORTED_LOCATION "${_riverrun_prefix}/lib/libriverrun.a"
        INTERFACE_INCLUDE_DIRECTORIES "${_riverrun_prefix}/include"
        INTERFACE_LINK_LIBRARIES "@SYSTEM_LIBRARIES@")
endif()
unset(_riverrun_prefix)
