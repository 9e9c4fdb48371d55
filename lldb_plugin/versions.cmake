# Which LLDBs the plugin is built for. Sets REFHIST_LLDB_VERSION and REFHIST_LLDB_INCLUDE_DIR, and where tests/other_lldb.sh
# has unpacked a second LLDB, REFHIST_OTHER_LLDB, REFHIST_OTHER_LLDB_VERSION and REFHIST_OTHER_LLDB_INCLUDE_DIR.

# LLDB has no .pc file. Debian and Ubuntu have a folder for each major version, others have the headers where all are.
set(found "")
set(first_choice 19)  # what all tests run in, where it is there
file(GLOB folders /usr/lib/llvm-*/include)
foreach(folder ${folders})
  if(folder MATCHES "llvm-([0-9]+)/" AND EXISTS ${folder}/lldb/API/LLDB.h)
    list(APPEND found ${CMAKE_MATCH_1})
  endif()
endforeach()
if(first_choice IN_LIST found)
  set(found ${first_choice})
endif()
list(SORT found COMPARE NATURAL ORDER DESCENDING)
find_path(REFHIST_COMMON_LLDB_INCLUDE_DIR lldb/API/LLDB.h)
mark_as_advanced(REFHIST_COMMON_LLDB_INCLUDE_DIR)
if(found)
  list(GET found 0 found)
elseif(REFHIST_COMMON_LLDB_INCLUDE_DIR AND EXISTS ${REFHIST_COMMON_LLDB_INCLUDE_DIR}/llvm/Config/llvm-config.h)
  file(STRINGS ${REFHIST_COMMON_LLDB_INCLUDE_DIR}/llvm/Config/llvm-config.h found REGEX "LLVM_VERSION_MAJOR")
  string(REGEX MATCH "[0-9]+" found "${found}")
endif()
set(REFHIST_LLDB_VERSION "${found}" CACHE STRING "Major version of the LLDB that the plugin is built for")

set(folder /usr/lib/llvm-${REFHIST_LLDB_VERSION}/include)
if(NOT EXISTS ${folder}/lldb/API/LLDB.h AND REFHIST_COMMON_LLDB_INCLUDE_DIR)
  set(folder ${REFHIST_COMMON_LLDB_INCLUDE_DIR})
endif()
set(REFHIST_LLDB_INCLUDE_DIR ${folder} CACHE PATH "Folder that has lldb/API/LLDB.h")
if(NOT REFHIST_LLDB_VERSION OR NOT EXISTS ${REFHIST_LLDB_INCLUDE_DIR}/lldb/API/LLDB.h)
  message(FATAL_ERROR "lldb/API/LLDB.h is not there: install liblldb-NN-dev (Fedora: lldb-devel), or configure with "
                      "-DREFHIST_LLDB=OFF")
endif()
find_program(REFHIST_LLDB_PROGRAM NAMES lldb-${REFHIST_LLDB_VERSION} lldb)
find_program(REFHIST_LLDB_SERVER_PROGRAM NAMES lldb-server-${REFHIST_LLDB_VERSION} lldb-server)

set(REFHIST_OTHER_LLDB ${PROJECT_BINARY_DIR}/other-lldb)
if(REFHIST_TESTS AND EXISTS ${REFHIST_OTHER_LLDB}/version)
  file(STRINGS ${REFHIST_OTHER_LLDB}/version REFHIST_OTHER_LLDB_VERSION)
  set(REFHIST_OTHER_LLDB_INCLUDE_DIR ${REFHIST_OTHER_LLDB}/usr/lib/llvm-${REFHIST_OTHER_LLDB_VERSION}/include)
endif()
