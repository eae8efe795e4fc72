# Our own CUDA kernels. LPES_CUDA: AUTO builds them where nvcc is found, ON insists, OFF leaves them out; the program works
# without them, also on a GPU (LibTorch's operations take their place).
set(LPES_CUDA AUTO CACHE STRING "Build our CUDA kernels: AUTO (where nvcc is found), ON or OFF")
set_property(CACHE LPES_CUDA PROPERTY STRINGS AUTO ON OFF)
# Machine code for every GPU since 2018 (8.6 and 8.9 run 8.0's), and PTX for those to come. "native" builds fastest.
set(LPES_CUDA_ARCHITECTURES "75-real;80-real;90" CACHE STRING "GPU architectures to build the kernels for")

set(LPES_WITH_CUDA OFF)
if(NOT LPES_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "LPES_CUDA is '${LPES_CUDA}'; it must be AUTO, ON or OFF.")
endif()
if(LPES_CUDA STREQUAL "AUTO" AND LPES_SANITIZE)
  # The sanitizers' options are the host compiler's alone; the kernels' bodies are run on the CPU by the tests anyway.
elseif(NOT LPES_CUDA STREQUAL "OFF")
  set(CMAKE_CUDA_ARCHITECTURES "${LPES_CUDA_ARCHITECTURES}")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(CMAKE_CUDA_STANDARD 17)  # C++20 in .cu files is beyond CMake 3.25
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    set(CMAKE_CUDA_EXTENSIONS OFF)
    if(LPES_CCACHE AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
      set(CMAKE_CUDA_COMPILER_LAUNCHER ${LPES_CCACHE})
    endif()
    enable_language(CUDA)
    set(LPES_WITH_CUDA ON)
  elseif(LPES_CUDA STREQUAL "ON")
    message(FATAL_ERROR "LPES_CUDA is ON but there is no CUDA compiler. Install nvcc 12 or newer (apt-get install nvidia-cuda-toolkit, or NVIDIA's packages), name it with -DCMAKE_CUDA_COMPILER=…, or leave LPES_CUDA at AUTO.")
  endif()
endif()
add_feature_info(LPES_CUDA LPES_WITH_CUDA "our own CUDA kernels (LPES_CUDA is ${LPES_CUDA})")
