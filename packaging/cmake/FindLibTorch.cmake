# Finds LibTorch (2.6 or newer) without LibTorch's own CMake config, which insists on a CUDA toolkit.
#
# Looked at, in this order: LPES_LIBTORCH (cache or environment), CMAKE_PREFIX_PATH, and the wheel that
# packaging/setup.sh unpacked in the user's cache folder. Each may be the folder that holds include/ and lib/,
# or a Python site-packages folder with torch/ in it.
#
# Defines LibTorch_FOUND, LibTorch_VERSION and the imported target LibTorch::LibTorch (libtorch_cpu, libc10).

if(DEFINED ENV{XDG_CACHE_HOME})
  set(_lpes_cache "$ENV{XDG_CACHE_HOME}/lpes")
else()
  set(_lpes_cache "$ENV{HOME}/.cache/lpes")
endif()
file(GLOB _lpes_unpacked LIST_DIRECTORIES true "${_lpes_cache}/libtorch-*/torch")
list(FILTER _lpes_unpacked EXCLUDE REGEX "\\.part/")
list(SORT _lpes_unpacked COMPARE NATURAL ORDER DESCENDING)

set(_lpes_hints ${LPES_LIBTORCH} $ENV{LPES_LIBTORCH})
if(_lpes_hints)
  # A place that the user names is the only one looked at: taking another in silence would hide a typing error.
  set(_lpes_where NO_DEFAULT_PATH)
else()
  set(_lpes_hints ${CMAKE_PREFIX_PATH} ${_lpes_unpacked})
  set(_lpes_where)
endif()

find_path(LibTorch_INCLUDE_DIR ATen/ATen.h HINTS ${_lpes_hints} PATH_SUFFIXES include torch/include ${_lpes_where})
find_library(LibTorch_CPU_LIBRARY torch_cpu HINTS ${_lpes_hints} PATH_SUFFIXES lib torch/lib ${_lpes_where})
find_library(LibTorch_C10_LIBRARY c10 HINTS ${_lpes_hints} PATH_SUFFIXES lib torch/lib ${_lpes_where})
mark_as_advanced(LibTorch_INCLUDE_DIR LibTorch_CPU_LIBRARY LibTorch_C10_LIBRARY)

if(LibTorch_INCLUDE_DIR)
  set(_lpes_version_header "${LibTorch_INCLUDE_DIR}/torch/headeronly/version.h")
  if(NOT EXISTS "${_lpes_version_header}")
    set(_lpes_version_header "${LibTorch_INCLUDE_DIR}/torch/csrc/api/include/torch/version.h")
  endif()
  if(EXISTS "${_lpes_version_header}")
    file(STRINGS "${_lpes_version_header}" _lpes_lines REGEX "#define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
    string(REGEX MATCHALL "[0-9]+" _lpes_numbers "${_lpes_lines}")
    list(JOIN _lpes_numbers "." LibTorch_VERSION)
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch
  REQUIRED_VARS LibTorch_CPU_LIBRARY LibTorch_C10_LIBRARY LibTorch_INCLUDE_DIR
  VERSION_VAR LibTorch_VERSION
  REASON_FAILURE_MESSAGE "run packaging/setup.sh, which unpacks the torch wheel, or set LPES_LIBTORCH to a LibTorch 2.6 or newer")

if(LibTorch_FOUND AND NOT TARGET LibTorch::LibTorch)
  add_library(LibTorch::c10 SHARED IMPORTED)
  set_target_properties(LibTorch::c10 PROPERTIES IMPORTED_LOCATION "${LibTorch_C10_LIBRARY}")
  add_library(LibTorch::LibTorch SHARED IMPORTED)
  set_target_properties(LibTorch::LibTorch PROPERTIES
    IMPORTED_LOCATION "${LibTorch_CPU_LIBRARY}"
    INTERFACE_LINK_LIBRARIES LibTorch::c10
    INTERFACE_INCLUDE_DIRECTORIES "${LibTorch_INCLUDE_DIR};${LibTorch_INCLUDE_DIR}/torch/csrc/api/include")
  # libtorch_cpu finds its CUDA run-time stubs through an RPATH of its own; the linker needs to be told of them.
  get_filename_component(_lpes_lib "${LibTorch_CPU_LIBRARY}" DIRECTORY)
  file(GLOB _lpes_cuda_dirs "${_lpes_lib}/../../nvidia/*/lib")
  foreach(_dir IN LISTS _lpes_cuda_dirs)
    set_property(TARGET LibTorch::LibTorch APPEND PROPERTY INTERFACE_LINK_OPTIONS "-Wl,-rpath-link,${_dir}")
  endforeach()
endif()
