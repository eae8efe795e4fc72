# A search on several machines. LPES_MPI: AUTO builds the door to MPI where it is found, ON insists, OFF leaves it out; a
# program without it refuses to start as one of several.
set(LPES_MPI AUTO CACHE STRING "Build the door to MPI (mpirun -n K lpes search): AUTO (where MPI is found), ON or OFF")
set_property(CACHE LPES_MPI PROPERTY STRINGS AUTO ON OFF)

set(LPES_WITH_MPI OFF)
if(NOT LPES_MPI MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "LPES_MPI is '${LPES_MPI}'; it must be AUTO, ON or OFF.")
endif()
if(NOT LPES_MPI STREQUAL "OFF")
  # MPI's own C++ bindings are not used.
  set(MPI_CXX_SKIP_MPICXX ON)
  find_package(MPI QUIET COMPONENTS CXX)
  if(MPI_CXX_FOUND)
    set(LPES_WITH_MPI ON)
  elseif(LPES_MPI STREQUAL "ON")
    message(FATAL_ERROR "LPES_MPI is ON but there is no MPI. Install it: apt-get install libopenmpi-dev openmpi-bin, or leave LPES_MPI at AUTO.")
  endif()
endif()
add_feature_info(LPES_MPI LPES_WITH_MPI "one search on several machines through MPI (LPES_MPI is ${LPES_MPI})")
