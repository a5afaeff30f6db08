# generated/report_page.inc: the report's page as two string literals, what stands before its data and
# what stands after them.
set(report_folder ${CMAKE_CURRENT_SOURCE_DIR}/src/report/page)
set(report_page_script "")
foreach(name IN ITEMS base summary nodes icicle plots examples network)
  file(READ ${report_folder}/${name}.js text)
  string(APPEND report_page_script "${text}")
endforeach()
file(READ ${report_folder}/style.css report_page_style)
file(READ ${report_folder}/page.html report_page_text)
string(REPLACE "%STYLE%" "${report_page_style}" report_page_text "${report_page_text}")
string(REPLACE "%SCRIPT%" "${report_page_script}" report_page_text "${report_page_text}")
string(FIND "${report_page_text}" "%DATA%" data_begin)
string(SUBSTRING "${report_page_text}" 0 ${data_begin} report_page_before)
math(EXPR data_end "${data_begin} + 6")
string(SUBSTRING "${report_page_text}" ${data_end} -1 report_page_after)
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/generated/report_page.inc CONTENT
"constexpr std::string_view kPageBeforeData = R\"page(@report_page_before@)page\";
constexpr std::string_view kPageAfterData = R\"page(@report_page_after@)page\";
" @ONLY)
file(GLOB report_page_files CONFIGURE_DEPENDS ${report_folder}/*)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${report_page_files})
