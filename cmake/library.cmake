# The library that is installed, margrove::margrove, from the objects of margrove_internal. It is a
# shared one with MARGROVE_SHARED, built by default with MARGROVE_INSTALL.
#
#   cmake -B build && cmake --build build && cmake --install build --prefix DIR
#
# Components: runtime (the shared library), development (headers, package files), program.

if(MARGROVE_SHARED)
  add_library(margrove_library SHARED ${margrove_all_objects})
  set(margrove_exports ${CMAKE_CURRENT_LIST_DIR}/exports.map)
  target_link_options(margrove_library PRIVATE -Wl,--version-script=${margrove_exports})
  set_target_properties(margrove_library PROPERTIES LINK_DEPENDS ${margrove_exports})
else()
  add_library(margrove_library STATIC ${margrove_all_objects})
endif()
add_library(margrove::margrove ALIAS margrove_library)
# Until version 1.0 a minor version may change the binary interface.
set_target_properties(margrove_library PROPERTIES OUTPUT_NAME margrove EXPORT_NAME margrove
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
target_compile_features(margrove_library INTERFACE cxx_std_20)
target_include_directories(margrove_library INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(margrove_library PRIVATE ${margrove_dependencies})
if(MARGROVE_SANITIZE)
  target_link_options(margrove_library PRIVATE -fsanitize=${MARGROVE_SANITIZE})
endif()

if(NOT MARGROVE_INSTALL)
  set_target_properties(margrove_library PROPERTIES EXCLUDE_FROM_ALL ON)
  return()
endif()

include(CMakePackageConfigHelpers)
set(margrove_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/margrove)
install(TARGETS margrove_library EXPORT margroveTargets
  LIBRARY COMPONENT runtime NAMELINK_COMPONENT development
  ARCHIVE COMPONENT development)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/margrove DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT development FILES_MATCHING PATTERN "*.hpp")
install(EXPORT margroveTargets NAMESPACE margrove:: DESTINATION ${margrove_package_dir}
  COMPONENT development)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/margroveConfig.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/margroveConfig.cmake INSTALL_DESTINATION ${margrove_package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/margroveConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
# The package may be moved after it was installed: its place is known from where margrove.pc lies.
file(RELATIVE_PATH margrove_pc_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(${CMAKE_CURRENT_LIST_DIR}/margrove.pc.in margrove.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/margroveConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/margroveConfigVersion.cmake ${CMAKE_CURRENT_LIST_DIR}/stemmer.cmake
  DESTINATION ${margrove_package_dir} COMPONENT development)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/margrove.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
