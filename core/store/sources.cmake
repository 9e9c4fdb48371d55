target_link_libraries(refhist_core PRIVATE PkgConfig::SQLITE PkgConfig::ZSTD)
target_sources(refhist_core PRIVATE
  store/database.cpp
  store/page_codec.cpp
  store/session_reader.cpp
  store/session_writer.cpp
  store/statement.cpp)
