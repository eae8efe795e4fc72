# Helpers that keep each module's CMakeLists.txt to a few lines, and the architecture's arrows in one visible place.

# lpes_find(<package> PACKAGES <apt packages> PURPOSE <why> [find_package arguments…])
# find_package that, when the package is missing, names what to install.
macro(lpes_find name)
  cmake_parse_arguments(_find "" "PACKAGES;PURPOSE" "" ${ARGN})
  find_package(${name} ${_find_UNPARSED_ARGUMENTS} QUIET)
  set_package_properties(${name} PROPERTIES TYPE REQUIRED PURPOSE "${_find_PURPOSE}")
  if(NOT ${name}_FOUND)
    message(FATAL_ERROR "${name} is missing (${_find_PURPOSE}). Install it: apt-get install ${_find_PACKAGES}, or run packaging/setup.sh.")
  endif()
endmacro()

# lpes_find_pc(<target> <pkg-config name> PACKAGES … PURPOSE …): the same for a pkg-config library.
macro(lpes_find_pc target pcname)
  cmake_parse_arguments(_find "" "PACKAGES;PURPOSE" "" ${ARGN})
  pkg_check_modules(${target} QUIET IMPORTED_TARGET ${pcname})
  if(NOT ${target}_FOUND)
    message(FATAL_ERROR "${pcname} is missing (${_find_PURPOSE}). Install it: apt-get install ${_find_PACKAGES}, or run packaging/setup.sh.")
  endif()
endmacro()

# lpes_module(<name> SOURCES … [PUBLIC …] [PRIVATE …]): static library lpes_<name>.
function(lpes_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;PUBLIC;PRIVATE")
  set(target lpes_${name})
  add_library(${target} STATIC ${arg_SOURCES})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_link_libraries(${target} PUBLIC ${arg_PUBLIC} PRIVATE lpes_warnings ${arg_PRIVATE})
endfunction()

# lpes_test(<name> SOURCES … LINK … [LABELS …] [TIMEOUT s]): one test program and one ctest entry.
# It links only the module under test (and what that module exports), which is how the arrows are checked.
function(lpes_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "SOURCES;LINK;LABELS")
  if(NOT LPES_BUILD_TESTS)
    return()
  endif()
  set(target test_${name})
  add_executable(${target} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE lpes_warnings ${arg_LINK} GTest::gmock GTest::gtest_main)
  # The code under test is optimised; optimising the assertions too would double the time that the tests take to build.
  if(LPES_SANITIZE)
    target_compile_options(${target} PRIVATE -O0)
  else()
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O0>)
  endif()
  target_compile_definitions(${target} PRIVATE LPES_TEST_DATA="${PROJECT_SOURCE_DIR}/tests" LPES_RESOURCES="${PROJECT_SOURCE_DIR}/resources")
  add_test(NAME ${name} COMMAND ${target})
  if(NOT arg_LABELS)
    set(arg_LABELS core)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  if(LPES_SANITIZE)
    math(EXPR arg_TIMEOUT "6 * ${arg_TIMEOUT}")  # instrumented code is that much slower
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} ENVIRONMENT "QT_QPA_PLATFORM=offscreen;LC_ALL=C.UTF-8")
endfunction()

# lpes_compile_alone(<file>…): sources of this folder that unity builds (presets ci and release) do not merge with others.
# For names in an unnamed namespace that several files of one target have, and for macros that steer what headers mean.
# Judge by the whole target, not by today's unit: a file more in the list moves the others to other units.
function(lpes_compile_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# lpes_embed(<target> <symbol> <file>): compiles a text resource into <target> as
#   namespace lpes::resources { extern const std::string_view <symbol>; }
# The command line has no Qt, so Qt's resource system is not an option for what core needs.
function(lpes_embed target symbol file)
  set(source "${CMAKE_CURRENT_BINARY_DIR}/resource_${symbol}.cpp")
  add_custom_command(OUTPUT "${source}"
    COMMAND ${CMAKE_COMMAND} -DINPUT=${file} -DOUTPUT=${source} -DSYMBOL=${symbol} -P ${PROJECT_SOURCE_DIR}/packaging/cmake/EmbedText.cmake
    DEPENDS "${file}" "${PROJECT_SOURCE_DIR}/packaging/cmake/EmbedText.cmake" VERBATIM)
  target_sources(${target} PRIVATE "${source}")
endfunction()
