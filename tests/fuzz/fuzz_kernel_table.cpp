// Any file gives a table of finite numbers or an error that names the file.
#include <unistd.h>

#include <cmath>
#include <fstream>

#include "fuzzing.hpp"
#include "kernel/kernel_function.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace margrove;
  static const std::string path = "table-" + std::to_string(::getpid());
  std::ofstream(path, std::ios::binary) << testing::as_text(bytes, size);
  try {
    const KernelTable table = read_kernel_table(path);
    testing::check(table.values.size() == table.num_rows * table.num_columns, "rows are whole");
    for (const float value : table.values)
      testing::check(std::isfinite(value), "values are finite");
  } catch (const InvalidInput& error) {
    testing::check(std::string_view(error.what()).find(path) != std::string_view::npos,
                   "an error names its file");
  }
  return 0;
}
