# Pages of HTML as string literals. margrove_page(CONSTANT FOLDER FILE ...) writes the page of a folder to
# generated/CONSTANT.inc: in its page.html, %STYLE% stands for the style of all pages and %SCRIPT% for the
# files.
set(MARGROVE_PAGES ${CMAKE_CURRENT_SOURCE_DIR}/src/report/page)
function(margrove_page constant folder)
  set(script "")
  foreach(file IN LISTS ARGN)
    file(READ ${file} text)
    string(APPEND script "${text}")
  endforeach()
  file(READ ${MARGROVE_PAGES}/style.css style)
  file(READ ${folder}/page.html page)
  string(REPLACE "%STYLE%" "${style}" page "${page}")
  string(REPLACE "%SCRIPT%" "${script}" page "${page}")
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/generated/${constant}.inc
    CONTENT "constexpr std::string_view ${constant} = R\"page(@page@)page\";\n" @ONLY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
    ${ARGN} ${MARGROVE_PAGES}/style.css ${folder}/page.html)
endfunction()
