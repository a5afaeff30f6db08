# Snowball::stemmer, the library libstemmer. It comes without files for CMake or pkg-config.
if(NOT TARGET Snowball::stemmer)
  find_library(MARGROVE_STEMMER_LIBRARY stemmer REQUIRED)
  find_path(MARGROVE_STEMMER_INCLUDE libstemmer.h REQUIRED)
  mark_as_advanced(MARGROVE_STEMMER_LIBRARY MARGROVE_STEMMER_INCLUDE)
  add_library(Snowball::stemmer UNKNOWN IMPORTED)
  set_target_properties(Snowball::stemmer PROPERTIES IMPORTED_LOCATION ${MARGROVE_STEMMER_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${MARGROVE_STEMMER_INCLUDE})
endif()
